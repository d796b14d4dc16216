// Checks Kubernetes objects against the published schemas, strictly: a member that a schema does not name is an error.
//
//   node check_schemas.js < OBJECTS.json    (an array); prints an array with the errors of each, both as JSON
//
// The package kubernetes-models has the schemas of Kubernetes' OpenAPI description, one module for each, which adds itself and those that it
// refers to by `register`. That function is replaced here by one that keeps them, to be closed before they are compiled.
"use strict";

const fs = require("fs");
const path = require("path");
const Ajv = require("ajv").default;
const addFormats = require("ajv-formats").default;

const schemas = new Map();
require.cache[require.resolve("@kubernetes-models/validate")] = {exports: {register: (id, schema) => schemas.set(id, schema)}};

function close(schema) {
    if (Array.isArray(schema))
        schema.forEach(close);
    else if (schema !== null && typeof schema === "object") {
        if (schema.properties !== undefined && schema.additionalProperties === undefined)
            schema.additionalProperties = false;
        Object.values(schema).forEach(close);
    }
}

// The name of an object's schema: "apps/v1" and "StatefulSet" make io.k8s.api.apps.v1.StatefulSet.
function nameOf({apiVersion, kind}) {
    const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["core", apiVersion];
    return ["io", "k8s", "api", group.replace(/\..*/, ""), version, kind];
}

function load(object) {
    const file = nameOf(object).map((word) => word[0].toUpperCase() + word.slice(1)).join("");
    require(path.join(__dirname, "node_modules/kubernetes-models/_schemas", file)).addSchema(); // which it does not export
}

const objects = JSON.parse(fs.readFileSync(0, "utf8"));
objects.forEach(load);
const ajv = new Ajv({strictTypes: false, allErrors: true});
addFormats(ajv);
ajv.addFormat("quantity", /^[+-]?(\d+|\d+\.\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/);
ajv.addFormat("string", true);
for (const [id, schema] of schemas) {
    close(schema);
    ajv.addSchema(schema, id);
}
const errors = objects.map((object) => {
    ajv.validate(nameOf(object).join("."), object);
    // Where null is allowed, too, two more errors say that it is neither.
    return (ajv.errors || []).filter((error) => error.keyword !== "oneOf" && error.params.type !== "null")
        .map((error) => `${object.kind}${error.instancePath}: ${error.message} ${JSON.stringify(error.params)}`);
});
console.log(JSON.stringify(errors));
