package dynamo

import "github.com/tablewake/tablewake/pipeline/redact"

// errs makes the errors of this package. They carry the text that logs may show.
const errs = redact.Class("state")

// viewErrs makes the errors about what a view wrote, with the class of views.
const viewErrs = redact.Class("view")
