package search

import "github.com/tablewake/tablewake/pipeline/redact"

// errs makes the errors of this package. They carry the text that logs may show.
const errs = redact.Class("search")
