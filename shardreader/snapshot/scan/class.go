package scan

import "github.com/tablewake/tablewake/pipeline/redact"

// errs makes the errors of this package, which say of themselves what a log may.
const errs = redact.Class("scan")
