package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// shardPlaceholder stands for the shard in a partition key.
const shardPlaceholder = "{@shard}"

// spreadView is a view whose partitions are spread over shards: each has one partition key per shard.
type spreadView struct {
	sink   string
	pk     *template.Template
	shards int
}

// spreadViewOf returns the view of a fingerprint, which has the settings of a sink. It returns false if the sink is not
// a view of the table t with shards.
func spreadViewOf(f state.Fingerprint, t view.Table) (spreadView, bool) {
	// Any entities will do, because only the texts between the placeholders are used.
	all := template.Options{Shard: true, Each: true, Identity: true, Entities: entity.NewSet()}
	pk, err := template.Parse(f.Settings["view.key."+t.PK], all)
	isOfTable := f.Settings["view.table"] == t.Name
	if err != nil || !isOfTable || !pk.HasShard() {
		return spreadView{}, false
	}
	v := spreadView{f.Sink, pk, 1}
	if n, err := strconv.Atoi(f.Settings["view.shards"]); err == nil {
		v.shards = n
	}
	return v, true
}

// keys returns the partition keys of all shards of a partition. pk names the partition by its key with {@shard}. If the
// keys end with {@shard}, pk may also be the key without {@shard} and the punctuation before it. If pk has no {@shard}
// and the keys do not end with it, keys returns nil.
func (v spreadView) keys(pk string) []item.Value {
	if start := strings.LastIndex(pk, shardPlaceholder); start >= 0 {
		return view.ShardKeys(v.shards, pk[:start], pk[start+len(shardPlaceholder):])
	}
	if punctuation, endsWithShard := v.punctuation(); endsWithShard {
		return view.ShardKeys(v.shards, pk+punctuation, "")
	}
	return nil
}

// punctuation returns the characters before {@shard} that are neither letters nor digits, as # in
// STATUS#{Status}#{@shard}. It returns false if the key does not end with {@shard}.
func (v spreadView) punctuation() (string, bool) {
	literals, placeholders := v.pk.Literals(), v.pk.Placeholders()
	last := len(placeholders) - 1
	if placeholders[last].Name != "@shard" || literals[last+1] != "" {
		return "", false
	}
	literal := literals[last]
	words := strings.TrimRightFunc(literal, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return literal[len(words):], true
}

// viewQuery selects the rows of `query view`.
type viewQuery struct {
	pk, pkPrefix, after string
	beginsWith, between string // conditions on the sort key
	reverse, typed      bool
	limit               int // maximum number of rows; 0: all

	key      item.Value // partition key, parsed from pk; absent: all partitions
	from, to item.Value // bounds of the sort key, parsed from between, in the direction of the read; absent: no bound
}

// isJSONKey reports whether a key is written in DynamoDB JSON.
func isJSONKey(text string) bool { return strings.HasPrefix(text, "{\"") }

// keyValue parses a key that is a text or a value in DynamoDB JSON. An empty text is the absent value.
func keyValue(flag, text string) (item.Value, error) {
	if text == "" {
		return item.Value{}, nil
	}
	if !isJSONKey(text) {
		return item.StringValue(text), nil
	}
	v, err := item.ParseValue([]byte(text))
	if err != nil {
		return item.Value{}, cli.Usagef("--%s %s: %w", flag, text, err)
	}
	switch v.Kind() {
	case item.KindS, item.KindB:
		return v, nil
	case item.KindN:
		number, _ := v.Number()
		return item.NumberValue(number), nil
	}
	return item.Value{}, cli.Usagef("--%s %s: a key is an S, an N or a B, and not %s", flag, text, v.Kind())
}

// parse sets key, from and to from the flags.
func (q *viewQuery) parse() (err error) {
	if q.key, err = keyValue("pk", q.pk); err != nil {
		return err
	}
	if q.between == "" {
		return nil
	}
	return q.parseBetween()
}

// parseBetween sets from and to.
func (q *viewQuery) parseBetween() (err error) {
	low, high, isValid := cutKeys(q.between)
	hasBound := low != "" || high != ""
	if !isValid || !hasBound {
		return cli.Usagef(
			`--between takes two sort keys, such as 2026-01,2026-03; one of them may be empty, and a key with a comma is written as {"S":"a,b"}`)
	}
	if q.pk == "" {
		return cli.Usagef("--between selects within a partition: name it with --pk")
	}
	if q.from, err = keyValue("between", low); err != nil {
		return err
	}
	if q.to, err = keyValue("between", high); err != nil {
		return err
	}
	if q.from.Exists() && (view.Query{To: q.to}).Ends(q.from) {
		return cli.Usagef("--between %s: no sort key is between the two: the lesser comes first", q.between)
	}
	if q.reverse {
		q.from, q.to = q.to, q.from
	}
	return nil
}

// cutKeys returns the two keys of --between, which a comma separates. A comma inside a key in DynamoDB JSON is part of
// the key. isValid is false if there is no separator, or if more than one comma could be the separator.
func cutKeys(between string) (low, high string, isValid bool) {
	var hasComma bool
	if isJSONKey(between) {
		low, high, hasComma = cutJSONKey(between)
	} else {
		low, high, hasComma = strings.Cut(between, ",")
	}
	isAmbiguous := strings.Contains(high, ",") && !isJSONKey(high)
	return low, high, hasComma && !isAmbiguous
}

// cutJSONKey cuts a text after the key in DynamoDB JSON at its beginning. rest is the text after the comma that
// follows, without white space around it; found is false if none follows.
func cutJSONKey(text string) (key, rest string, found bool) {
	var document json.RawMessage
	decoder := json.NewDecoder(strings.NewReader(text))
	if decoder.Decode(&document) != nil {
		return "", "", false
	}
	keyLen := decoder.InputOffset()
	rest, found = strings.CutPrefix(strings.TrimSpace(text[keyLen:]), ",")
	return text[:keyLen], strings.TrimSpace(rest), found
}

// readRows returns the selected rows of a table. It also returns the partition that it reads, from which the caller
// makes a cursor after the last row. A partition without Keys has no cursor, so --after cannot continue the read.
func (q viewQuery) readRows(ctx context.Context, t viewTable) (iter.Seq2[view.Row, error], view.Partition, error) {
	partition := view.Partition{Table: t.Table}
	query := view.Query{PKPrefix: q.pkPrefix, SKPrefix: q.beginsWith, Reverse: q.reverse}
	if err := q.checkSortKey(t); err != nil {
		return nil, partition, err
	}
	if q.pk == "" {
		return t.reader.Rows(ctx, t.Table, query), partition, nil
	}
	if !strings.HasPrefix(q.pk, q.pkPrefix) { // no row has both --pk and --pk-prefix
		return func(func(view.Row, error) bool) {}, partition, nil
	}
	keys, err := q.partitionKeys(t)
	if err != nil {
		return nil, partition, err
	}
	if len(keys) > 1 || t.SK != "" { // otherwise the partition is one row, and needs no cursor
		partition.Keys = keys
	}
	if len(keys) == 1 && q.after == "" {
		query.PK, query.From, query.To = keys[0], q.from, q.to
		return t.reader.Rows(ctx, t.Table, query), partition, nil
	}
	read := view.PartitionQuery{SKPrefix: q.beginsWith, From: q.from, To: q.to, Reverse: q.reverse, Cursor: q.after}
	if q.limit > 0 {
		read.Limit = q.limit + 1 // one more row than is printed, to know whether there are more
	}
	return partition.Rows(ctx, t.reader, read), partition, nil
}

// checkSortKey returns a usage error if a flag needs a sort key that the table does not have, or if --after has no
// partition to continue.
func (q viewQuery) checkSortKey(t viewTable) error {
	canContinue := q.pk != "" && t.SK != ""
	switch {
	case q.between != "" && t.SK == "":
		return cli.Usagef("--between: the table %s has no sort key", t.Name)
	case q.after != "" && !canContinue:
		return cli.Usagef("--after continues a partition of a table with a sort key: name it with --pk")
	}
	return nil
}

// partitionKeys returns the partition keys that q.pk names. For a view with shards it returns the keys of all shards.
func (q viewQuery) partitionKeys(t viewTable) (keys []item.Value, err error) {
	isSpread := strings.Contains(q.pk, shardPlaceholder)
	if isSpread && len(t.views) == 0 {
		return nil, cli.Usagef("--pk %s: no view of the table %s has shards: write the partition key itself", q.pk, t.Name)
	}
	if !isSpread {
		keys = append(keys, q.key)
	}
	for _, v := range t.views {
		for _, key := range v.keys(q.pk) {
			if !slices.ContainsFunc(keys, key.Equal) {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

// mergedReader is a Reader that returns each group of an aggregate as one row. The stored rows of a group are spread
// over shards.
type mergedReader struct {
	view.Reader
	groups []view.GroupRows
}

// Rows implements [view.Reader].
func (r mergedReader) Rows(ctx context.Context, t view.Table, q view.Query) iter.Seq2[view.Row, error] {
	return view.MergedRows(ctx, r.Reader, t, q, r.groups...)
}

// numberHint explains how to write a partition key that is a number. It returns "" if the text of --pk is not a plain
// number.
func (q viewQuery) numberHint() string {
	d, err := decimal.Parse(q.pk)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(`if the partition key is a number, write --pk '{"N":"%s"}'`, d)
}

// hint explains why --pk probably selects no rows. It returns "" if no error is probable.
func (q viewQuery) hint(t viewTable) string {
	hasRange := q.between != "" || q.beginsWith != "" || q.after != ""
	if hasRange {
		return "" // the partition may exist although no row is in the range
	}
	numberHint := q.numberHint()
	if numberHint != "" && len(t.views) == 0 {
		return "no rows; " + numberHint
	}
	return t.shardsHint()
}

// explainError returns the error of a read; a usage error if --after is no cursor. If --pk is a text that looks like a
// number, the result also explains how to write a number: DynamoDB refuses a text if the partition key of the table is
// a number.
func (q viewQuery) explainError(err error) error {
	if errors.Is(err, view.ErrCursor) {
		return cli.Usagef("--after: %w", err)
	}
	if hint := q.numberHint(); hint != "" && awserr.Code(err) == "ValidationException" {
		return fmt.Errorf("%w; %s", err, hint)
	}
	return err
}

// shardsHint explains the form of the partition keys of the views with shards. It returns "" if no view has shards.
func (t viewTable) shardsHint() string {
	var forms []string
	for _, v := range t.views {
		key := v.pk.String()
		form := "'" + key + "'"
		punctuation, endsWithShard := v.punctuation()
		withoutShard := strings.TrimSuffix(key, punctuation+shardPlaceholder)
		if endsWithShard && withoutShard != "" {
			form = "'" + withoutShard + "' or " + form
		}
		forms = append(forms, fmt.Sprintf("%s, which has %d shards, is %s", v.sink, v.shards, form))
	}
	if forms == nil {
		return ""
	}
	return "no rows; a partition of " + strings.Join(forms, "; one of ") + ", with the values of an item, and " +
		shardPlaceholder + " as it is"
}
