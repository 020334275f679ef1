package record

import (
	"cmp"
	"slices"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// failField sets the error of a field that is missing or contradicts other fields. It always returns false.
func (r *recordReader) failField(path string, err error) bool {
	r.ErrAt, r.Err, r.ErrPath = 0, err, path
	return false
}

// validate checks the fields of a stream's record together, and sets the fields of c that depend on several of them. It
// returns false if a field is missing or contradicts other fields.
func (r *recordReader) validate(c *Change) bool {
	r.setOperation(c)
	if len(r.time) > 0 {
		t, err := creationTime(r.time)
		if err != nil {
			return r.failField("dynamodb.ApproximateCreationDateTime", err)
		}
		c.Time = t
	}
	return r.setStream(c) && r.checkFields(c) && r.checkImages(c) && r.setKey(c) && r.checkKeys(c)
}

// setOperation sets Op. It also replaces common texts by equal constants, which do not keep the page in memory.
func (r *recordReader) setOperation(c *Change) {
	for op := Insert; op <= Snapshot; op++ {
		if name := op.String(); c.EventName == name {
			c.Op, c.EventName = op, name
		}
	}
	if c.Identity == ttlIdentity {
		c.Identity = ttlIdentity
	}
}

// setStream sets the stream of the change, and the table, the Region and the version that follow from the stream. It
// returns false if the record needs a stream and has no valid one.
func (r *recordReader) setStream(c *Change) bool {
	stream := r.defaultStream
	if c.StreamARN != "" {
		stream = r.streams.parse(c.StreamARN)
	}
	if stream == nil && !r.o.EpochZero {
		return r.failField("eventSourceARN", errNoARN)
	}
	epoch := uint64(0)
	if stream != nil {
		if stream.err != nil && !r.o.EpochZero {
			return r.failField("eventSourceARN", stream.err)
		}
		epoch, c.StreamARN = stream.epoch, stream.arn
		c.Table = cmp.Or(stream.table, c.Table)
		if c.Region == "" || c.Region == stream.region {
			c.Region = stream.region // an equal text that does not keep the page in memory
		}
	}
	c.Table = cmp.Or(c.Table, r.o.Table)
	if c.Sequence != "" {
		c.Version = Version{epoch: epoch, sequence: trimZeros(c.Sequence)}
	}
	return true
}

func (r *recordReader) checkFields(c *Change) bool {
	switch {
	case !r.seenFields.has(fieldDynamoDB):
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

// checkImages returns false if the images of a record do not fit its operation and its view type. Without this check, a
// sink could mistake a MODIFY that lacks its new image for a removal.
func (r *recordReader) checkImages(c *Change) bool {
	if c.Op == Unknown || c.Op == Snapshot {
		return true
	}
	needsOld, needsNew := c.Op == Modify || c.Op == Remove, c.Op == Insert || c.Op == Modify
	switch {
	case c.Old.Exists() && !needsOld:
		return r.failField("dynamodb.OldImage", errUnexpectedImage)
	case c.New.Exists() && !needsNew:
		return r.failField("dynamodb.NewImage", errUnexpectedImage)
	case !c.Old.Exists() && needsOld && c.ViewType.HasOld():
		return r.failField("dynamodb.OldImage", errNoImage)
	case !c.New.Exists() && needsNew && c.ViewType.HasNew():
		return r.failField("dynamodb.NewImage", errNoImage)
	}
	return true
}

// checkKeys returns false if an image has a key attribute that differs from Keys.
func (r *recordReader) checkKeys(c *Change) bool {
	return r.checkImageKeys(c, &c.New, &r.keyIndexes[0], "dynamodb.NewImage") &&
		r.checkImageKeys(c, &c.Old, &r.keyIndexes[1], "dynamodb.OldImage")
}

// checkImageKeys compares the key attributes of image with Keys. indexes has the indexes of the key attributes in the
// previous record, and predicts their indexes in image.
func (r *recordReader) checkImageKeys(c *Change, image *item.Image, indexes *[2]int, path string) bool {
	if !image.Exists() {
		return true
	}
	keyDoc, keyAttrs := c.Keys.Bytes(), c.Keys.Index()
	imageDoc, imageAttrs := image.Bytes(), image.Index()
	for k := range min(len(keyAttrs), len(indexes)) {
		i := indexes[k]
		if i >= len(imageAttrs) || !imageAttrs[i].SameName(imageDoc, keyAttrs[k], keyDoc) {
			i = slices.IndexFunc(imageAttrs, func(a ddbjson.Attr) bool { return a.SameName(imageDoc, keyAttrs[k], keyDoc) })
			if i < 0 {
				continue
			}
			indexes[k] = i
		}
		if !c.Keys.ValueAt(k).Equal(image.ValueAt(i)) {
			return r.failField(string(ddbjson.AppendMember([]byte(path), imageAttrs[i].Text(imageDoc))), errOtherItem)
		}
	}
	return true
}

// setKey sets the canonical key. Its memory is in the page's arena.
func (r *recordReader) setKey(c *Change) bool {
	table := ""
	if r.o.TableInKey {
		table = c.Table
	}
	key, invalid, err := item.AppendKey(r.Arena.KeyBuffer(), table, c.Keys)
	if err != nil {
		path := []byte("dynamodb.Keys")
		if invalid >= 0 {
			path = ddbjson.AppendMember(path, c.Keys.Index()[invalid].Text(c.Keys.Bytes()))
		}
		return r.failField(string(path), err)
	}
	c.Key = item.Key(ddbjson.View(r.Arena.KeepBytes(key)))
	return true
}
