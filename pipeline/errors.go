package pipeline

import "github.com/tablewake/tablewake/pipeline/redact"

// errs makes this package's errors. Their redacted text holds no data.
const errs = redact.Class("pipeline")
