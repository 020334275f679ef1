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

// Attributes that a row has besides its own. Names that begin so are refused in a view.
const (
	markAttribute    = "_tw"         // M: what the row is of
	expiresAttribute = "_tw_expires" // N: of a tombstone, when it may go (Unix seconds): the TTL attribute
	sharesAttribute  = "_tw_shares"  // N: of a group's row, how many shares count in it
	epochAttribute   = "_tw_epoch"   // S: of a group's row whose values have members, which of those in the state table are its own
)

// What is in a row's mark.
const (
	markVersion  = "v"     // S: record.Version, which sorts as text
	markPipeline = "by"    // S: who wrote it; changes that bear one's own name are dropped at the source
	markView     = "view"  // S: the sink that the row belongs to
	markBirth    = "birth" // S: of the sink's output: which state knows of the row
	markSource   = "src"   // S: key of the item that it is of; none in a group's row
	markRevision = "rev"   // S: of a group's row, another one with each write
	markVoid     = "void"  // BOOL: of a tombstone, no row could be made of the change: the same version may replace it; none of another
	markWide     = "wide"  // SS: of a group's row, the values that are reckoned by hand; none where all may be added to
)

// mark is what a row's mark says.
type mark struct {
	version  string
	pipeline string
	view     string
	birth    string
	source   string
}

// owned is what a row must bear to be the target's: its view, pipeline and birth.
const owned = "#tw.#view = :view AND #tw.#by = :by AND #tw.#birth = :birth"

// ownedBy is a condition that has owned in it, with more names.
func ownedBy(t view.Target, text string, names ...string) dynamo.Condition {
	c := dynamo.Condition{
		Text:   text,
		Names:  map[string]string{"#tw": markAttribute, "#view": markView, "#by": markPipeline, "#birth": markBirth},
		Values: dynamo.Item{":view": dynamo.S(t.View), ":by": dynamo.S(t.Pipeline), ":birth": dynamo.S(t.Birth)},
		Old:    true,
	}
	for i := 0; i < len(names); i += 2 {
		c.Names[names[i]] = names[i+1]
	}
	return c
}

// markOf is the mark of an item; false where it has none, and no sink made it.
func markOf(item map[string]types.AttributeValue) (mark, bool) {
	m, ok := item[markAttribute].(*types.AttributeValueMemberM)
	if !ok {
		return mark{}, false
	}
	return mark{
		version:  dynamo.Text(m.Value, markVersion),
		pipeline: dynamo.Text(m.Value, markPipeline),
		view:     dynamo.Text(m.Value, markView),
		birth:    dynamo.Text(m.Value, markBirth),
		source:   dynamo.Text(m.Value, markSource),
	}, true
}

// item is a row, or a tombstone that goes at a time, as the SDK takes it.
func tableItem(t view.Target, m *view.Mutation, version string, expires int64) map[string]types.AttributeValue {
	it := make(map[string]types.AttributeValue, len(m.Attributes)+4)
	it[t.PK] = sdkvalue.Of(m.PK)
	if t.SK != "" {
		it[t.SK] = sdkvalue.Of(m.SK)
	}
	mark := map[string]types.AttributeValue{
		markVersion:  dynamo.S(version),
		markPipeline: dynamo.S(t.Pipeline),
		markView:     dynamo.S(t.View),
		markBirth:    dynamo.S(t.Birth),
		markSource:   dynamo.S(string(m.Source)),
	}
	if m.Void {
		mark[markVoid] = &types.AttributeValueMemberBOOL{Value: true}
	}
	it[markAttribute] = &types.AttributeValueMemberM{Value: mark}
	if m.Tombstone {
		it[expiresAttribute] = dynamo.N(strconv.FormatInt(expires, 10))
		return it
	}
	for _, c := range m.Attributes {
		it[c.Name] = sdkvalue.Of(c.Value)
	}
	return it
}

// checkKey is the error of a row's key that no item can have.
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
		return errs.Errorf("dynamodb: the %s key %s is empty: DynamoDB takes no empty key", redact.Safe(part), redact.Field(attribute))
	}
	return errs.Errorf("dynamodb: the %s key %s is %d bytes long: DynamoDB takes at most %d there", redact.Safe(part), redact.Field(attribute), n, limit)
}

// rowOf is an item as readers see it; false where it is no row: a tombstone, or an
// item that no sink made.
func rowOf(t view.Table, image map[string]types.AttributeValue) (view.Row, bool, error) {
	m, ok := markOf(image)
	if _, gone := image[expiresAttribute]; !ok || gone {
		return view.Row{}, false, nil
	}
	r := view.Row{Source: item.Key(m.source), View: m.view}
	var err error
	if r.Version, err = record.ParseVersion(m.version); err != nil {
		return r, false, errs.New("its _tw holds no version")
	}
	if r.Item, err = sdkvalue.Image(unmarked(image)); err != nil {
		return r, false, err
	}
	r.PK, _ = r.Item.Get(t.PK)
	if t.SK != "" {
		r.SK, _ = r.Item.Get(t.SK)
	}
	return r, true, nil
}
