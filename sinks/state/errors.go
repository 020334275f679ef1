package state

import "github.com/tablewake/tablewake/pipeline/redact"

// errs creates the errors of this package. They carry a redacted text, which logs may contain.
const errs = redact.Class("state")

// DamagedError means that one stored entry cannot be read. Other entries may be readable. Stores wrap it in their
// errors.
type DamagedError struct{ Err error }

var _ redact.Redacted = (*DamagedError)(nil)

// Error returns the text of Err.
func (e *DamagedError) Error() string { return e.Err.Error() }

// Redacted returns the text of Err that logs may show.
func (e *DamagedError) Redacted() string { return redact.LogText(e.Err) }

// Describe returns the class.
func (e *DamagedError) Describe() (class, field string) { return "damaged", "" }

// Unwrap returns Err.
func (e *DamagedError) Unwrap() error { return e.Err }
