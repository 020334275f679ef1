package mask

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Change is c with what is hidden of its images masked, and with it everything that
// is made of them: the canonical key where a key attribute is hidden, and Raw, which
// is a record of the masked images and of nothing that c does not name. It decodes to
// the masked change. Where nothing of c is hidden, it is c itself.
func (m *Mask) Change(c *record.Change) *record.Change {
	if m == nil || !m.touches(c.Keys) && !m.touches(c.Old) && !m.touches(c.New) {
		return c
	}
	masked := *c
	masked.Keys, masked.Old, masked.New = m.Image(c.Keys), m.Image(c.Old), m.Image(c.New)
	masked.Key = m.Key(c)
	masked.Raw = record.AppendRecord(make([]byte, 0, len(c.Raw)+256), &masked)
	return &masked
}

// Key is the canonical key of c: of the masked key attributes where one is hidden.
func (m *Mask) Key(c *record.Change) item.Key {
	if m == nil || !m.touches(c.Keys) {
		return c.Key
	}
	key, err := item.MakeKey("", m.Image(c.Keys))
	if err != nil { // c was not decoded, and its Keys are not those of an item
		return item.Key(m.Text(string(c.Key)))
	}
	if table, _, ok := strings.Cut(string(c.Key), "!"); ok {
		return item.Key(table+"!") + key
	}
	return key
}

// HiddenKey names a key attribute of c that is hidden; false where there is none.
func (m *Mask) HiddenKey(c *record.Change) (attribute string, ok bool) {
	if m == nil {
		return "", false
	}
	for name, v := range c.Keys.All() {
		if m.touchesMember(name, v) {
			return name, true
		}
	}
	return "", false
}

// Explanation is x for people who may not see what m hides: its change, its differences
// and its events are those of the masked images. What the sinks would do it shows as
// they have planned it: make them with a mask.
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

// Delivery is d with its change and its events masked. Where a key attribute is
// hidden the events have other ids, made of the masked key and as stable: an id
// that is made of the key would let others try keys until it fits.
func (m *Mask) Delivery(d *pipeline.Delivery) pipeline.Delivery {
	masked := *d
	masked.Change = m.Change(d.Change)
	if masked.Change != d.Change {
		masked.Events = m.events(d.Events, d.Change, masked.Change)
	}
	return masked
}

// events are es, which the detectors raised in c, as those of the masked change.
func (m *Mask) events(es []pipeline.Event, c, masked *record.Change) []pipeline.Event {
	es = slices.Clone(es)
	for i := range es {
		e := &es[i]
		m.event(e, c)
		e.Change = masked
	}
	return es
}

// event masks the values of e, and cuts its path where it goes on below a hidden
// place: the names there are hidden too.
func (m *Mask) event(e *pipeline.Event, c *record.Change) {
	p, err := item.ParsePath(e.Path)
	if err != nil {
		e.Old, e.New = m.whole(e.Old, c), m.whole(e.New, c)
		return
	}
	e.Old, _ = m.ValueAt(p, e.Old)
	e.New, _ = m.ValueAt(p, e.New)
	if shown, cut := m.cut(p); cut {
		e.Path = shown
	}
}

// whole masks a value of no place: an image of c, which events of the pattern **
// hold, as that image is, and any other as a whole.
func (m *Mask) whole(v item.Value, c *record.Change) item.Value {
	for _, image := range []item.Image{c.Old, c.New} {
		if v.Kind() == item.KindM && image.Exists() && sameBytes(v.Raw(), image.Bytes()) {
			return m.Image(image).Value()
		}
	}
	if !v.Exists() {
		return v
	}
	return m.masked(v)
}

// sameBytes reports whether a and b are one range of memory.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}
