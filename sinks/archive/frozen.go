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

// shownFrozen is how many objects an error spells out.
const shownFrozen = 20

// Error names the objects, each with the command that restores it: up to 20, and
// how many more there are. All are in Objects.
func (e *FrozenError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "archive: %d objects must be restored before they can be read; restore them, wait until that is done (hours), and start again:", len(e.Objects))
	for i, o := range e.Objects {
		if i == shownFrozen {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Objects)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s (%s): %s", o.Name, o.Class, o.Restore)
	}
	return b.String()
}
