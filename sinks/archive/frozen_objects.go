package archive

import (
	"fmt"
	"strings"
)

// FrozenError lists objects that must be restored before they can be read, because of their storage class.
type FrozenError struct {
	Objects []Frozen // at least one
}

// Frozen is an object that must be restored.
type Frozen struct {
	Name    string
	Class   string // such as "GLACIER"
	Restore string // the command line that restores it for some days
}

// Error returns one line per object, with the command that restores it.
func (e *FrozenError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"archive: objects that must be restored before they can be read: %d; restore them, wait until that is done (hours), and start again:",
		len(e.Objects))
	for _, o := range e.Objects {
		fmt.Fprintf(&b, "\n  %s (%s): %s", o.Name, o.Class, o.Restore)
	}
	return b.String()
}
