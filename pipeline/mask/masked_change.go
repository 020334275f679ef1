package mask

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Change returns a copy of c with the hidden parts of its images masked. The key and Raw are made from the images, so
// the copy has a new key and a new Raw. If a key attribute is hidden, the new key is built from the masked attributes.
// The new Raw is a record that decodes to the masked change. If nothing in the images of c is hidden, Change returns c.
func (m *Mask) Change(c *record.Change) *record.Change {
	if m == nil || !m.hidesIn(c.Keys) && !m.hidesIn(c.Old) && !m.hidesIn(c.New) {
		return c
	}
	masked := *c
	masked.Keys, masked.Old, masked.New = m.Image(c.Keys), m.Image(c.Old), m.Image(c.New)
	masked.Key = m.Key(c)
	masked.Backfill = true // so that RecordJSON makes a record, and does not return Raw
	masked.Raw = masked.RecordJSON()
	masked.Backfill = false
	return &masked
}

// Key returns the canonical key of c. If a key attribute is hidden, the key is built from the masked attributes.
func (m *Mask) Key(c *record.Change) item.Key {
	if m == nil || !m.hidesIn(c.Keys) {
		return c.Key
	}
	key, err := item.MakeKey("", m.Image(c.Keys))
	if err != nil { // c was not decoded, so its Keys may be invalid
		return item.Key(m.Text(string(c.Key)))
	}
	if table, _, ok := strings.Cut(string(c.Key), "!"); ok {
		return item.Key(table+"!") + key
	}
	return key
}

// HiddenKey returns the name of a key attribute of c that is hidden, or false if no key attribute is hidden.
func (m *Mask) HiddenKey(c *record.Change) (attribute string, ok bool) {
	if m == nil {
		return "", false
	}
	for name, v := range c.Keys.All() {
		if m.hidesInAttribute(name, v) {
			return name, true
		}
	}
	return "", false
}

// Explanation returns x with its change, differences and events masked. It does not mask the plans of the sinks. To
// mask a plan, give its sink a mask.
func (m *Mask) Explanation(x pipeline.Explanation) pipeline.Explanation {
	d := m.Delivery(&pipeline.Delivery{Change: x.Change, Events: x.Events})
	if d.Change == x.Change {
		return x
	}
	x.Change, x.Events = d.Change, d.Events
	if x.Diff != nil {
		x.Diff = item.Diff(d.Change.Old, d.Change.New)
	}
	return x
}

// Delivery returns d with its change and its events masked. If a key attribute is hidden, the ids of the events are
// built from the masked key. Such an id is as stable as the unmasked id, but nobody can use it to test a guess of the
// key.
func (m *Mask) Delivery(d *pipeline.Delivery) pipeline.Delivery {
	masked := *d
	masked.Change = m.Change(d.Change)
	if masked.Change != d.Change {
		masked.Events = m.events(d.Events, d.Change, masked.Change)
	}
	return masked
}

// events returns masked copies of es, the events of c. The Change of each copy is masked.
func (m *Mask) events(es []pipeline.Event, c, masked *record.Change) []pipeline.Event {
	es = slices.Clone(es)
	for i := range es {
		e := &es[i]
		m.event(e, c)
		e.Change = masked
	}
	return es
}

// event masks the values of e, which is an event of c. If the path of e continues inside a hidden value, event cuts the
// path after this value, because the names inside the value are hidden, too.
func (m *Mask) event(e *pipeline.Event, c *record.Change) {
	p, err := item.ParsePath(e.Path)
	if err != nil {
		e.Old, e.New = m.eventValue(e.Old, c), m.eventValue(e.New, c)
		return
	}
	e.Old, _ = m.ValueAt(p, e.Old)
	e.New, _ = m.ValueAt(p, e.New)
	if shown, cut := m.cutPath(p); cut {
		e.Path = shown
	}
}

// eventValue masks v, the value of an event without a path. If the event comes from the pattern **, v is a whole image
// of c, and eventValue masks the hidden parts of the image. It masks any other value completely.
func (m *Mask) eventValue(v item.Value, c *record.Change) item.Value {
	for _, image := range []item.Image{c.Old, c.New} {
		if v.Kind() == item.KindM && image.Exists() && sameBytes(v.Raw(), image.Bytes()) {
			return m.Image(image).Value()
		}
	}
	if !v.Exists() {
		return v
	}
	return m.maskedValue(v)
}

// sameBytes reports whether a and b are the same range of memory.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}
