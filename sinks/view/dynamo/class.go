package dynamo

import "github.com/tablewake/tablewake/pipeline/redact"

// errs makes the errors of this package, with a text that may be logged.
const errs = redact.Class("view")
