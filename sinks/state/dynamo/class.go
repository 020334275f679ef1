package dynamo

import "github.com/tablewake/tablewake/pipeline/redact"

// errs makes the errors of this package, which say of themselves what a log may.
const errs = redact.Class("state")

// viewErrs makes those of what a view wrote: they have its class.
const viewErrs = redact.Class("view")
