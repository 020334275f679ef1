package dynamo

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// The store's own attributes of a row. A view cannot have attributes with the prefix _tw.
const (
	metaAttribute = "_tw" // M: owner, version and source of the row
	// N: time when TTL may delete a tombstone in place (Unix seconds); only tombstones have it
	expiresAttribute = "_tw_expires"
	sharesAttribute  = "_tw_shares" // N: number of shares of a group's row; the row is deleted when it has none
	epochAttribute   = "_tw_epoch"  // S: text that identifies the members of a group's row in the state table
)

// Attributes in _tw.
const (
	metaVersion  = "v"     // S: record.Version, which sorts as text
	metaPipeline = "by"    // S: pipeline that wrote the row. A pipeline drops changes of its own rows from its source
	metaView     = "view"  // S: sink that owns the row
	metaBirth    = "birth" // S: id of the sink's output
	metaSource   = "src"   // S: key of the item that the row belongs to; absent for a group
	metaRevision = "rev"   // S: text that each write of a group's row changes; other rows have it only after a repair
	metaVoid     = "void"  // BOOL: only a void tombstone has it: a row of the same version may replace the tombstone
	// SS: names of the values of a group's row that are beyond the limits for adding in place; absent if there are none
	metaWide = "wide"
)

// rowMeta is the parsed _tw of a row.
type rowMeta struct {
	version  string
	pipeline string
	view     string
	birth    string
	source   string
	revision string
}

// ownerMatches is the condition that a row belongs to the view, pipeline and birth of the target.
const ownerMatches = "#tw.#view = :view AND #tw.#by = :by AND #tw.#birth = :birth"

// withOwner returns a condition with the given text, which contains ownerMatches. names has a pair for each other
// placeholder of text: the placeholder and the name of its attribute.
func withOwner(t view.Target, text string, names ...string) dynamo.Condition {
	c := dynamo.Condition{
		Text:         text,
		Names:        map[string]string{"#tw": metaAttribute, "#view": metaView, "#by": metaPipeline, "#birth": metaBirth},
		Values:       dynamo.Item{":view": dynamo.S(t.View), ":by": dynamo.S(t.Pipeline), ":birth": dynamo.S(t.Birth)},
		ReturnStored: true,
	}
	for i := 0; i < len(names); i += 2 {
		c.Names[names[i]] = names[i+1]
	}
	return c
}

// metaOf returns the _tw of an item. It returns false if the item has none, because no sink wrote it.
func metaOf(item map[string]types.AttributeValue) (rowMeta, bool) {
	m, ok := item[metaAttribute].(*types.AttributeValueMemberM)
	if !ok {
		return rowMeta{}, false
	}
	return rowMeta{
		version:  dynamo.Text(m.Value, metaVersion),
		pipeline: dynamo.Text(m.Value, metaPipeline),
		view:     dynamo.Text(m.Value, metaView),
		birth:    dynamo.Text(m.Value, metaBirth),
		source:   dynamo.Text(m.Value, metaSource),
		revision: dynamo.Text(m.Value, metaRevision),
	}, true
}

// tableItem returns the item of a row or of a tombstone in place. expires is the time when the tombstone expires, in
// Unix seconds.
func tableItem(t view.Target, m *view.Mutation, version string, expires int64) map[string]types.AttributeValue {
	row := make(map[string]types.AttributeValue, len(m.Attributes)+4)
	row[t.PK] = sdkvalue.Of(m.PK)
	if t.SK != "" {
		row[t.SK] = sdkvalue.Of(m.SK)
	}
	meta := map[string]types.AttributeValue{
		metaVersion:  dynamo.S(version),
		metaPipeline: dynamo.S(t.Pipeline),
		metaView:     dynamo.S(t.View),
		metaBirth:    dynamo.S(t.Birth),
		metaSource:   dynamo.S(string(m.Source)),
	}
	if m.Void {
		meta[metaVoid] = &types.AttributeValueMemberBOOL{Value: true}
	}
	row[metaAttribute] = &types.AttributeValueMemberM{Value: meta}
	if m.Tombstone {
		row[expiresAttribute] = dynamo.N(strconv.FormatInt(expires, 10))
		return row
	}
	for _, c := range m.Attributes {
		row[c.Name] = sdkvalue.Of(c.Value)
	}
	return row
}

// rowPut returns the put of an item that tableItem returned. It returns an error if DynamoDB cannot store the item.
func rowPut(t view.Target, item dynamo.Item, c dynamo.Condition) (dynamo.Action, error) {
	if err := checkKey(t.Table, item); err != nil {
		return dynamo.Action{}, err
	}
	if n := dynamo.SizeOfItem(item); n > dynamo.MaxItem {
		return dynamo.Action{}, dynamo.TooLarge("the row", n)
	}
	return dynamo.Put(t.Name, item, c), nil
}

// checkKey returns an error if DynamoDB does not allow the row key.
func checkKey(t view.Table, key dynamo.Item) error {
	if n := dynamo.SizeOf(key[t.PK]); n > dynamo.MaxPartitionKey || n == 0 {
		return badKey("partition", t.PK, n, dynamo.MaxPartitionKey)
	}
	if t.SK == "" {
		return nil
	}
	if n := dynamo.SizeOf(key[t.SK]); n > dynamo.MaxSortKey || n == 0 {
		return badKey("sort", t.SK, n, dynamo.MaxSortKey)
	}
	return nil
}

func badKey(part, attribute string, n, limit int) error {
	if n == 0 {
		return errs.Errorf("dynamodb: the %s key %s is empty: DynamoDB takes no empty key", redact.Safe(part),
			redact.Field(attribute))
	}
	return errs.Errorf("dynamodb: the %s key %s is %d bytes long: DynamoDB takes at most %d there", redact.Safe(part),
		redact.Field(attribute), n, limit)
}

// errNoVersion is the error of a row whose _tw was changed by hand.
var errNoVersion = errs.New("its _tw holds no version")

// readerRow returns the row that readers get for an item. It returns false if the item is a tombstone, or if no sink
// wrote the item. If the error is errNoVersion, the row is complete except its version.
func readerRow(t view.Table, image map[string]types.AttributeValue) (view.Row, bool, error) {
	m, ok := metaOf(image)
	if _, isTombstone := image[expiresAttribute]; !ok || isTombstone {
		return view.Row{}, false, nil
	}
	r := view.Row{Source: item.Key(m.source), View: m.view, Birth: m.birth}
	var err error
	if r.Item, err = sdkvalue.Image(withoutMeta(image)); err != nil {
		return r, false, err
	}
	r.PK, _ = r.Item.Get(t.PK)
	if t.SK != "" {
		r.SK, _ = r.Item.Get(t.SK)
	}
	if r.Version, err = record.ParseVersion(m.version); err != nil {
		return r, false, errNoVersion
	}
	return r, true, nil
}
