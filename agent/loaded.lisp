;;;; Stands after each of the agent's files while the core is built: the server waits for as long as one after the other is loaded.

(cl:write-line "; a file was loaded")
(cl:finish-output)
