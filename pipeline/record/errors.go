package record

import "github.com/tablewake/tablewake/pipeline/redact"

// errs makes the errors of this package. Their texts may be logged: they hold no data.
const errs = redact.Class("pipeline")
