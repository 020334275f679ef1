package record

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// failField notes what is wrong with a record as a whole: err with the path of
// the field that is missing, or contradicts others.
func (r *recordReader) failField(path string, err error) bool {
	r.At, r.Err, r.Path = 0, err, path
	return false
}

// complete makes of the fields of a stream's record what a Change says beyond
// them. It is false for a record that lacks something or contradicts itself.
func (r *recordReader) complete(c *Change) bool {
	r.operation(c)
	if len(r.time) > 0 {
		t, err := creationTime(r.time)
		if err != nil {
			return r.failField("dynamodb.ApproximateCreationDateTime", err)
		}
		c.Time = t
	}
	return r.origins(c) && r.checkFields(c) && r.checkImages(c) && r.key(c) && r.checkKeys(c)
}

func (r *recordReader) operation(c *Change) {
	switch c.EventName {
	case "INSERT":
		c.Op, c.EventName = Insert, "INSERT"
	case "MODIFY":
		c.Op, c.EventName = Modify, "MODIFY"
	case "REMOVE":
		c.Op, c.EventName = Remove, "REMOVE"
	case "SNAPSHOT":
		c.Op, c.EventName = Snapshot, "SNAPSHOT"
	}
	if c.Identity == ttlIdentity {
		c.Identity = ttlIdentity
	}
}

// origins finds the stream that the change came from, and with it the table, the
// region and the version.
func (r *recordReader) origins(c *Change) bool {
	from := r.given
	if c.StreamARN != "" {
		from = r.streams.find(c.StreamARN)
	}
	epoch := uint64(0)
	switch {
	case from == nil && !r.o.EpochZero:
		return r.failField("eventSourceARN", errNoARN)
	case from != nil && from.err != nil && !r.o.EpochZero:
		return r.failField("eventSourceARN", from.err)
	case from != nil:
		epoch, c.StreamARN = from.epoch, from.arn
		if from.table != "" {
			c.Table = from.table
		}
		if c.Region == "" || c.Region == from.region {
			c.Region = from.region
		}
	}
	if c.Table == "" {
		c.Table = r.o.Table
	}
	if c.Sequence != "" {
		c.Version = Version{epoch: epoch, sequence: trimZeros(c.Sequence)}
	}
	return true
}

func (r *recordReader) checkFields(c *Change) bool {
	switch {
	case !r.seen.has(fieldDynamoDB):
		return r.failField("dynamodb", errMissing)
	case c.EventName == "":
		return r.failField("eventName", errMissing)
	case c.Sequence == "":
		return r.failField("dynamodb.SequenceNumber", errMissing)
	case !c.Keys.Exists():
		return r.failField("dynamodb.Keys", errMissing)
	case c.Table == "" && r.o.TableInKey:
		return r.failField("eventSourceARN", errNoTable)
	}
	return true
}

// checkImages refuses what would pass for another change: a MODIFY without the
// new image that its view type promises is no removal.
func (r *recordReader) checkImages(c *Change) bool {
	hasOld, hasNew := c.Op == Modify || c.Op == Remove, c.Op == Insert || c.Op == Modify
	switch {
	case c.Op == Unknown || c.Op == Snapshot:
	case c.Old.Exists() && !hasOld:
		return r.failField("dynamodb.OldImage", errNoSuch)
	case c.New.Exists() && !hasNew:
		return r.failField("dynamodb.NewImage", errNoSuch)
	case !c.Old.Exists() && hasOld && c.ViewType.HasOld():
		return r.failField("dynamodb.OldImage", errNoImage)
	case !c.New.Exists() && hasNew && c.ViewType.HasNew():
		return r.failField("dynamodb.NewImage", errNoImage)
	}
	return true
}

// checkKeys refuses an image that is of another item than the record says.
func (r *recordReader) checkKeys(c *Change) bool {
	return r.agrees(c, &c.New, &r.keysIn[0], "dynamodb.NewImage") && r.agrees(c, &c.Old, &r.keysIn[1], "dynamodb.OldImage")
}

// agrees compares the key attributes of an image, which stand where they did in the record
// before, as a rule: there at says.
func (r *recordReader) agrees(c *Change, m *item.Image, at *[2]int, path string) bool {
	if !m.Exists() {
		return true
	}
	keys, as := c.Keys.Bytes(), c.Keys.Index()
	doc, in := m.Bytes(), m.Index()
	for k := range min(len(as), len(at)) {
		i := at[k]
		if i >= len(in) || !in[i].Named(doc, as[k], keys) {
			i = slices.IndexFunc(in, func(a ddbjson.Attr) bool { return a.Named(doc, as[k], keys) })
			if i < 0 {
				continue
			}
			at[k] = i
		}
		if !c.Keys.ValueAt(k).Equal(m.ValueAt(i)) {
			return r.failField(string(ddbjson.AppendMember([]byte(path), in[i].Text(doc))), errOtherItem)
		}
	}
	return true
}

// key builds the canonical key beside those of the page's other records.
func (r *recordReader) key(c *Change) bool {
	table := ""
	if r.o.TableInKey {
		table = c.Table
	}
	key, at, err := item.AppendKey(r.Slab.Room(), table, c.Keys)
	if err != nil {
		path := []byte("dynamodb.Keys")
		if at >= 0 {
			path = ddbjson.AppendMember(path, c.Keys.Index()[at].Text(c.Keys.Bytes()))
		}
		return r.failField(string(path), err)
	}
	c.Key = item.Key(r.Slab.KeepKey(key))
	return true
}
