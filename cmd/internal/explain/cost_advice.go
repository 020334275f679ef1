package explain

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// idleChanges counts, by key attribute and prefix, the changes that cost a sink a read but no write.
type idleChanges map[string]prefixes

// prefixes has the counts of one key attribute.
type prefixes struct {
	reads   map[string]float64 // read units of idle changes
	written map[string]bool    // prefixes of changes that are written; "": a written change has no prefix
}

// passesKey reports whether a filter on the written prefixes passes a key with this prefix.
func (p prefixes) passesKey(prefix string) bool {
	for written := range p.written {
		if strings.HasPrefix(prefix, written) {
			return true
		}
	}
	return false
}

// maxPrefixes is the maximum number of prefixes in a filter.
const maxPrefixes = 8

// fixedKey is a key that is probably the same for many items: PROFILE, or META.
var fixedKey = regexp.MustCompile(`^[A-Z][A-Z_-]*$`)

// prefixOf returns the text of a key up to the first usual separator, or a whole fixed key. It returns "" for other
// keys.
func prefixOf(v item.Value) string {
	text, _ := v.Text()
	if separator := strings.IndexAny(text, "#:|/"); separator > 0 {
		return text[:separator+1]
	}
	if fixedKey.MatchString(text) {
		return text
	}
	return ""
}

// add counts a change with its cost at the sink.
func (c idleChanges) add(keys item.Image, cost dynamo.Cost) {
	for name, v := range keys.All() {
		p, known := c[name]
		if !known {
			p = prefixes{make(map[string]float64), make(map[string]bool)}
			c[name] = p
		}
		isIdle := cost.WriteUnits == 0
		if isIdle {
			p.reads[prefixOf(v)] += cost.ReadUnits
		} else if len(p.written) <= maxPrefixes { // more than maxPrefixes fit into no filter
			p.written[prefixOf(v)] = true
		}
	}
}

// filter returns the filter that drops the most read units of idle changes and no written change. It also returns the
// read units that the filter saves. It returns "" if no filter saves any.
func (c idleChanges) filter() (filter string, saved float64) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		p := c[name]
		fitsFilter := len(p.written) > 0 && len(p.written) <= maxPrefixes && !p.written[""]
		units := p.droppedReads()
		if fitsFilter && units > saved {
			filter, saved = p.keepWritten(name), units
		}
	}
	return filter, saved
}

// droppedReads returns the read units of the changes that the filter returned by keepWritten drops.
func (p prefixes) droppedReads() (units float64) {
	for prefix, reads := range p.reads {
		if !p.passesKey(prefix) {
			units += reads
		}
	}
	return units
}

// keepWritten returns the filter that keeps the prefixes of written changes.
func (p prefixes) keepWritten(attribute string) string {
	var conditions []string
	for _, prefix := range slices.Sorted(maps.Keys(p.written)) {
		conditions = append(conditions, fmt.Sprintf("{key_prefix: {%s: %s}}", attribute, yamlbind.Quoted(prefix)))
	}
	if len(conditions) > 1 {
		return "{any: [" + strings.Join(conditions, ", ") + "]}"
	}
	return conditions[0]
}

// setAdvice sets the advice of each sink.
func (c *costs) setAdvice() {
	for i := range c.Sinks {
		s := &c.Sinks[i]
		if filter, saved := s.idle.filter(); saved > 0 {
			s.Advice = append(s.Advice,
				fmt.Sprintf(
					"filters: [{keep: %s}] on it would save %s read units of changes that write nothing, $%.2f a million changes",
					filter, cli.Thousands(int64(saved)), saved*readPrice.Dollars/float64(c.Changes)*1e6))
		}
		if s.OtherTombstones > 0 && s.OtherTombstones != s.WriteUnits {
			s.Advice = append(s.Advice, s.tombstoneAdvice())
		}
	}
}

// tombstoneAdvice compares the write units of the sink with those of the other kind of tombstones.
func (s *sinkCost) tombstoneAdvice() string {
	kind, otherKind := "apart", "in_place"
	if s.inPlace {
		kind, otherKind = otherKind, kind
	}
	return fmt.Sprintf(
		"%s write units with tombstones: %s, %s with tombstones: %s; readers of tombstones: in_place leave them out",
		cli.Thousands(int64(s.WriteUnits)), kind, cli.Thousands(int64(s.OtherTombstones)), otherKind)
}
