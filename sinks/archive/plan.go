package archive

import (
	"fmt"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
)

// Kind is a class of change.
type Kind string

// The classes of change. Each change is of one.
const (
	TTLDelete  Kind = "ttl_delete"  // the item expired
	UserDelete Kind = "user_delete" // the item was removed otherwise
	AnyChange  Kind = "change"      // the item is still there
)

// KindOf is the class of c.
func KindOf(c *record.Change) Kind {
	switch {
	case c.TTLDelete():
		return TTLDelete
	case c.Removed():
		return UserDelete
	}
	return AnyChange
}

// ReasonKind is the reason of changes of a class that is not kept.
const ReasonKind = "kind"

// Put is the planned place of one change.
type Put struct {
	Folder string // under Log: where the object of its batch goes, "" or ending in "/"
	Name   string // under PerItem: the object
	Tags   []Tag  // under PerItem: its tags
	Kind   Kind

	Columns []item.Value // of Options.Columns, as the mask shows them
	sink    *Sink
}

// String is a line of `explain`.
func (p *Put) String() string {
	if p.Name != "" {
		return fmt.Sprintf("create object %s (%s)", p.Name, p.Kind)
	}
	b := fmt.Appendf(nil, "append to the next object of %s (%s)", displayFolder(p.Folder), p.Kind)
	if p.sink != nil && p.sink.roll.Age > 0 {
		b = fmt.Appendf(b, ", written within %s", shortAge(p.sink.roll.Age))
	}
	for i, v := range p.Columns {
		if i == 0 {
			b = append(b, ": "...)
		} else {
			b = append(b, ", "...)
		}
		b = append(b, p.sink.columns[i].Name...)
		if !v.Exists() {
			b = append(b, " absent"...)
			continue
		}
		b = item.StringValue(string(appendCell(nil, v))).AppendJSON(append(b, '='))
	}
	return string(b)
}

// shortAge is an age without the units that are 0: 5m, 1h30m.
func shortAge(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

func displayFolder(folder string) string {
	if folder == "" {
		return "the log"
	}
	return folder
}

// put is room for a place: one that changes to come may share is kept beyond d.
func (s *Sink) put(d *pipeline.Delivery) *Put {
	if s.recent.timely {
		return new(Put)
	}
	return pipeline.Alloc[Put](d)
}

// Plan names the place of a change.
func (s *Sink) Plan(d *pipeline.Delivery) error {
	kind := KindOf(d.Change)
	if !s.kinds[kind] {
		d.Outcome, d.Reason = pipeline.NoEffect, ReasonKind
		return nil
	}
	if p := s.recent.of(kind, d.Change); p != nil {
		d.Ops = append(d.Ops, p)
		return nil
	}
	p := s.put(d)
	p.Kind = kind
	scope := template.ScopeOf(d.Change)
	scope.Mask = s.mask
	switch {
	case s.layout == PerItem:
		name, err := s.key.AppendObjectKey([]byte(s.prefix), scope)
		if err != nil {
			return fmt.Errorf("archive: key %q: %w", s.key, err)
		}
		p.Name = shortened(strings.ReplaceAll(string(name), d.Change.Version.String(), identityOf(d.Change)))
		if p.Tags, err = s.tagsOf(scope); err != nil {
			return err
		}
	case s.partition != nil:
		folder, err := s.partition.AppendObjectKey([]byte(s.prefix), scope)
		if err != nil {
			return fmt.Errorf("archive: partition %q: %w", s.partition, err)
		}
		p.Folder = shortened(string(folder)) + "/"
	default:
		p.Folder = s.prefix
	}
	var err error
	if p.Columns, err = s.columnsOf(scope); err != nil {
		return err
	}
	p.sink = s
	s.recent.keep(p, d.Change)
	d.Ops = append(d.Ops, p)
	return nil
}
