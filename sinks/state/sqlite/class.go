package sqlite

import "github.com/tablewake/tablewake/pipeline/redact"

// errs creates the errors of this package. They carry a redacted text, which logs may contain.
const errs = redact.Class("state")

// viewErrs creates the errors about the output of views. They have the class of package view.
const viewErrs = redact.Class("view")
