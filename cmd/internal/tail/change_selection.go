package tail

import (
	"slices"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/itemkey"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// selection is what --key and --of select.
type selection struct {
	key         itemkey.Key // zero: every item
	entityNames []string    // empty: every item
	entities    *entity.Set // entities of the configuration; nil: it has none
	mask        *mask.Mask
}

// setEntities sets the names of --of. It returns an error if one of the names is not the name of an entity in the file.
func (s *selection) setEntities(names []string, file string) error {
	s.entityNames = names
	var known []string
	for _, e := range s.entities.All() {
		known = append(known, e.Name)
	}
	return cli.CheckNames("of", file+" has no such entity", known, names...)
}

// selects reports whether a change is selected. With --of, a change is also selected if the entity of its item cannot
// be determined.
func (s *selection) selects(c *record.Change) bool {
	if !s.key.Matches(c, s.mask) {
		return false
	}
	if len(s.entityNames) == 0 {
		return true
	}
	e, err := s.entities.Of(rules.LatestImage(c))
	if err != nil {
		return true
	}
	return e != nil && slices.Contains(s.entityNames, e.Name)
}
