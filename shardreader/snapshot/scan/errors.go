package scan

import "github.com/tablewake/tablewake/pipeline/redact"

// errs makes the errors of this package. Each error has a redacted text for logs.
const errs = redact.Class("scan")
