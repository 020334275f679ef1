package archive

import (
	"fmt"
	"strings"
)

// FrozenError names objects of a storage class that has to be restored before it
// can be read.
type FrozenError struct {
	Objects []Frozen // at least one
}

// Frozen is one such object.
type Frozen struct {
	Name    string
	Class   string // "GLACIER"
	Restore string // the command line that restores it for some days
}

// Error names the objects, a line each, with the command that restores it.
func (e *FrozenError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "archive: %d objects must be restored before they can be read; restore them, wait until that is done (hours), and start again:", len(e.Objects))
	for _, o := range e.Objects {
		fmt.Fprintf(&b, "\n  %s (%s): %s", o.Name, o.Class, o.Restore)
	}
	return b.String()
}
