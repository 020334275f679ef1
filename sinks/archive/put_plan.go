package archive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
)

// Kind says what a change did to its item.
type Kind string

// The kinds of changes. Each change has exactly one kind.
const (
	TTLDelete  Kind = "ttl_delete"  // the item expired
	UserDelete Kind = "user_delete" // the item was removed, but did not expire
	AnyChange  Kind = "change"      // the item exists after the change
)

// KindOf returns the kind of c.
func KindOf(c *record.Change) Kind {
	switch {
	case c.TTLDelete():
		return TTLDelete
	case c.Removed():
		return UserDelete
	}
	return AnyChange
}

// ReasonKind is the reason for ignoring a change whose kind is not archived.
const ReasonKind = "kind"

// Put is the planned write of one change.
type Put struct {
	Folder string // folder of the object with Log; "" or ending in "/"
	Name   string // name of the object with PerItem
	Tags   []Tag  // tags of the object with PerItem
	Kind   Kind

	Columns []item.Value // values of Options.Columns, masked
	sink    *Sink
}

// String returns the text that `explain` prints.
func (p *Put) String() string {
	switch {
	case p.Name != "" && p.sink != nil && p.sink.newestOnly:
		return fmt.Sprintf("write object %s unless it is newer (%s)", p.Name, p.Kind)
	case p.Name != "":
		return fmt.Sprintf("create object %s (%s)", p.Name, p.Kind)
	}
	text := fmt.Sprintf("append to the next object of %s (%s)", cmp.Or(p.Folder, "the log"), p.Kind)
	if p.sink != nil && p.sink.o.Roll.Age > 0 {
		text += ", written within " + shortAge(p.sink.o.Roll.Age)
	}
	if len(p.Columns) > 0 {
		text += ": " + p.columnsText()
	}
	return text
}

// columnsText returns the columns of a Put of a sink, with their values.
func (p *Put) columnsText() string {
	columns := make([]string, len(p.Columns))
	for i, v := range p.Columns {
		columns[i] = p.sink.o.Columns[i].Name + " absent"
		if v.Exists() {
			columns[i] = p.sink.o.Columns[i].Name + "=" + string(item.AppendJSONText(nil, string(appendCell(nil, v))))
		}
	}
	return strings.Join(columns, ", ")
}

// shortAge returns the text of a duration without units that are 0, such as 5m or 1h30m.
func shortAge(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// Plan adds the Put of a change. With Log the Put names the folder of the object, and with PerItem it names the object.
func (s *Sink) Plan(d *pipeline.Delivery) error {
	kind := KindOf(d.Change)
	if !slices.Contains(s.o.Kinds, kind) {
		d.Outcome, d.Reason = pipeline.NoEffect, ReasonKind
		return nil
	}
	if p := s.recent.lookup(kind, d.Change); p != nil {
		d.Ops = append(d.Ops, p)
		return nil
	}
	p := s.newPut(d)
	p.Kind, p.sink = kind, s
	scope := template.ScopeOf(d.Change)
	scope.Mask = s.o.Mask
	err := s.setObject(p, d.Change, scope)
	if err == nil {
		p.Columns, err = s.columnsOf(scope)
	}
	if err != nil {
		return err
	}
	s.recent.store(p, d.Change)
	d.Ops = append(d.Ops, p)
	return nil
}

// newPut returns a new Put in the arena of the page, unless putCache may keep the Put beyond the page.
func (s *Sink) newPut(d *pipeline.Delivery) *Put {
	if s.recent.timeOnly {
		return new(Put)
	}
	return pipeline.Alloc[Put](d)
}

// setObject sets the object of a Put, or the folder of the object.
func (s *Sink) setObject(p *Put, c *record.Change, scope template.Scope) (err error) {
	switch {
	case s.o.Layout == PerItem:
		if p.Name, err = s.objectName(c, scope); err != nil {
			return err
		}
		p.Tags, err = s.tagsOf(scope)
		return err
	case s.o.Partition == nil:
		p.Folder = s.o.Prefix
		return nil
	}
	folder, err := s.o.Partition.AppendObjectKey([]byte(s.o.Prefix), scope)
	if err != nil {
		return fmt.Errorf("archive: partition %q: %w", s.o.Partition, err)
	}
	p.Folder = shortenName(string(folder)) + "/"
	return nil
}

// objectName returns the name of a change's PerItem object.
func (s *Sink) objectName(c *record.Change, scope template.Scope) (string, error) {
	appendKey := s.o.Key.AppendObjectKey
	if s.o.RawNames {
		appendKey = s.o.Key.AppendRawObjectKey
	}
	b, err := appendKey([]byte(s.o.Prefix), scope)
	if err != nil {
		return "", fmt.Errorf("archive: key %q: %w", s.o.Key, err)
	}
	name := string(b)
	if !s.newestOnly {
		name = strings.ReplaceAll(name, c.Version.String(), versionIdentity(c))
	}
	if s.o.RawNames {
		if err := s.checkRawName(name); err != nil {
			return "", err
		}
	}
	return shortenName(name), nil
}
