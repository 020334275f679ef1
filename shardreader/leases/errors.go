package leases

import "github.com/tablewake/tablewake/pipeline/redact"

// errs creates the errors of this package. They carry a redacted text, which logs may contain.
const errs = redact.Class("leases")
