package expr

import "github.com/tablewake/tablewake/pipeline"

// errs makes the errors of expressions, which say of themselves what a log may.
const errs = pipeline.Class("expression")
