/*
 * The operators whose number of arguments reveals a misplaced parenthesis. Only operators of the
 * standard; for macros with a body, the minimum is what a sensible form has.
 */
#include "scan/scan_arity.h"

#include <string.h>
#include <strings.h>

#define ANY SCAN_ARITY_ANY

/* Sorted by strcmp. */
/* clang-format off */
static const struct scan_arity table[] = {
    {"*", 1, ANY}, {"+", 1, ANY}, {"-", 1, ANY}, {"/", 1, ANY}, {"/=", 1, ANY}, {"1+", 1, 1}, {"1-", 1, 1},
    {"<", 1, ANY}, {"<=", 1, ANY}, {"=", 1, ANY}, {">", 1, ANY}, {">=", 1, ANY}, {"abs", 1, 1},
    {"adjoin", 2, ANY}, {"apply", 2, ANY}, {"aref", 1, ANY}, {"array-dimension", 2, 2}, {"ash", 2, 2},
    {"assoc", 2, ANY}, {"atom", 1, 1}, {"block", 2, ANY}, {"boundp", 1, 1}, {"butlast", 1, 2},
    {"byte", 2, 2}, {"caar", 1, 1}, {"cadr", 1, 1}, {"car", 1, 1}, {"case", 2, ANY}, {"catch", 2, ANY},
    {"cdar", 1, 1}, {"cddr", 1, 1}, {"cdr", 1, 1}, {"ceiling", 1, 2}, {"char", 2, 2}, {"char-code", 1, 1},
    {"char-downcase", 1, 1}, {"char-upcase", 1, 1}, {"char=", 1, ANY}, {"class-of", 1, 1},
    {"code-char", 1, 1}, {"coerce", 2, 2}, {"cond", 1, ANY}, {"cons", 2, 2}, {"consp", 1, 1},
    {"copy-list", 1, 1}, {"copy-seq", 1, 1}, {"decf", 1, 2}, {"defclass", 3, ANY}, {"defconstant", 2, 3},
    {"defgeneric", 2, ANY}, {"defmacro", 2, ANY}, {"defmethod", 2, ANY}, {"defparameter", 2, 3},
    {"defun", 2, ANY}, {"defvar", 1, 3}, {"delete", 2, ANY}, {"destructuring-bind", 3, ANY},
    {"dolist", 2, ANY}, {"dotimes", 2, ANY}, {"ecase", 2, ANY}, {"eighth", 1, 1}, {"elt", 2, 2},
    {"endp", 1, 1}, {"eq", 2, 2}, {"eql", 2, 2}, {"equal", 2, 2}, {"equalp", 2, 2}, {"etypecase", 2, ANY},
    {"evenp", 1, 1}, {"every", 2, ANY}, {"expt", 2, 2}, {"fboundp", 1, 1}, {"fifth", 1, 1}, {"find", 2, ANY},
    {"find-class", 1, 3}, {"find-if", 2, ANY}, {"find-package", 1, 1}, {"first", 1, 1}, {"flet", 2, ANY},
    {"floor", 1, 2}, {"format", 2, ANY}, {"fourth", 1, 1}, {"function", 1, 1}, {"functionp", 1, 1},
    {"gensym", 0, 1}, {"getf", 2, 3}, {"gethash", 2, 3}, {"go", 1, 1}, {"handler-case", 1, ANY},
    {"identity", 1, 1}, {"if", 2, 3}, {"ignore-errors", 1, ANY}, {"incf", 1, 2}, {"intern", 1, 2},
    {"keywordp", 1, 1}, {"labels", 2, ANY}, {"lambda", 2, ANY}, {"last", 1, 2}, {"ldb", 2, 2},
    {"length", 1, 1}, {"let", 2, ANY, .has_bindings = true}, {"let*", 2, ANY, .has_bindings = true},
    {"listp", 1, 1}, {"logand", 2, ANY}, {"logior", 2, ANY}, {"lognot", 1, 1}, {"logxor", 2, ANY},
    {"macrolet", 2, ANY}, {"make-array", 1, ANY}, {"make-instance", 1, ANY}, {"mapc", 2, ANY},
    {"mapcan", 2, ANY}, {"mapcar", 2, ANY}, {"max", 1, ANY}, {"member", 2, ANY}, {"min", 1, ANY},
    {"minusp", 1, 1}, {"mod", 2, 2}, {"multiple-value-bind", 3, ANY}, {"multiple-value-list", 1, 1},
    {"ninth", 1, 1}, {"not", 1, 1}, {"nreverse", 1, 1}, {"nth", 2, 2}, {"nth-value", 2, 2}, {"nthcdr", 2, 2},
    {"null", 1, 1}, {"numberp", 1, 1}, {"oddp", 1, 1}, {"plusp", 1, 1}, {"pop", 1, 1}, {"position", 2, ANY},
    {"prog1", 2, ANY}, {"psetf", 2, ANY, .is_even = true}, {"psetq", 2, ANY, .is_even = true},
    {"push", 2, 2}, {"pushnew", 2, ANY}, {"quote", 1, 1}, {"rem", 2, 2}, {"remhash", 2, 2},
    {"remove", 2, ANY}, {"remove-if", 2, ANY}, {"remove-if-not", 2, ANY}, {"rest", 1, 1}, {"return", 0, 1},
    {"return-from", 1, 2}, {"reverse", 1, 1}, {"round", 1, 2}, {"row-major-aref", 2, 2}, {"rplaca", 2, 2},
    {"rplacd", 2, 2}, {"sbit", 1, ANY}, {"schar", 2, 2}, {"second", 1, 1}, {"set", 2, 2},
    {"setf", 2, ANY, .is_even = true}, {"setq", 2, ANY, .is_even = true}, {"slot-boundp", 2, 2},
    {"slot-value", 2, 2}, {"some", 2, ANY}, {"sqrt", 1, 1}, {"string", 1, 1}, {"string-downcase", 1, ANY},
    {"string-equal", 2, ANY}, {"string-upcase", 1, ANY}, {"string=", 2, ANY}, {"stringp", 1, 1},
    {"subseq", 2, 3}, {"svref", 2, 2}, {"symbol-function", 1, 1}, {"symbol-name", 1, 1},
    {"symbol-package", 1, 1}, {"symbol-value", 1, 1}, {"symbolp", 1, 1}, {"the", 2, 2}, {"third", 1, 1},
    {"truncate", 1, 2}, {"typecase", 2, ANY}, {"typep", 2, 3}, {"unless", 2, ANY},
    {"unwind-protect", 2, ANY}, {"vector-push", 2, 2}, {"vector-push-extend", 2, 3}, {"when", 2, ANY},
    {"with-open-file", 2, ANY}, {"with-output-to-string", 2, ANY}, {"with-slots", 3, ANY},
    {"write-char", 1, 2}, {"write-string", 1, ANY}, {"zerop", 1, 1},
};
/* clang-format on */

const struct scan_arity *scan_arity_of(const char *name, size_t len)
{
    size_t low = 0, high = sizeof table / sizeof *table;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        size_t row_len = strlen(table[middle].name);
        int order = strncasecmp(name, table[middle].name, len < row_len ? len : row_len);
        if (order == 0 && len == row_len)
            return &table[middle];
        if (order < 0 || (order == 0 && len < row_len))
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
