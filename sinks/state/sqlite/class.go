package sqlite

import "github.com/tablewake/tablewake/pipeline"

// errs makes the errors of this package, which say of themselves what a log may.
const errs = pipeline.Class("state")

// viewErrs makes those of what a view wrote: they have its class.
const viewErrs = pipeline.Class("view")
