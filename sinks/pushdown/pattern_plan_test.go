package pushdown_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/pushdown"
)

const otherViewType = `{"dynamodb":{"StreamViewType":[{"anything-but":["NEW_AND_OLD_IMAGES"]},{"exists":false}]}}` + "\n" +
	`{"eventName":[{"anything-but":["INSERT","MODIFY","REMOVE"]}]}`

func TestPlans(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		o          pushdown.Options
		want       string
	}{
		{"keys above all sinks", `
filters:
  - keep: {any: [{key_prefix: {PK: 'USER#'}}, {key_prefix: {PK: 'ORDER#'}}]}
sinks:
  rows: {aggregate: {table: rows, group: {PK: '{Status}'}, values: {n: count}, on_ttl_delete: keep}}`, pushdown.Options{}, `
{"dynamodb":{"Keys":{"PK":{"B":[{"prefix":"T1JERVIj"},{"prefix":"VVNFUiM"},{"prefix":"VVNFUiN"},{"prefix":"VVNFUiO"},{"prefix":"VVNFUiP"}]}}}}
{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"ORDER#"},{"prefix":"USER#"}]}}}}
filter "keep_any": whole
what the sinks take: not, rows needs every change: an aggregate compares an item with what it counted for, not with the old image`},
		{"an index and a view of one type each: leaves pass", `
sinks:
  products: {search: {index: products, when: 'item.Type == "Product"'}}
  users: {view: {table: rows, key: {PK: '{@key}'}, when: 'item.Type == "User"'}}`, pushdown.Options{}, `
{"dynamodb":{"NewImage":{"Type":{"S":["Product","User"]}}}}
{"dynamodb":{"OldImage":{"Type":{"S":["Product","User"]}}}}
` + otherViewType + `
what the sinks take: whole`},
		{"one that contradicts itself reads the image all the same: a record that shows none is for dead letters", `
sinks:
  never: {search: {index: never, when: 'item.Type == "Order" && item.Type == "User"'}}
  teams: {search: {index: teams, filters: [{keep: {key_prefix: {PK: 'ORG'}}}]}}`, pushdown.Options{}, `
{"dynamodb":{"Keys":{"PK":{"B":[{"prefix":"T1JH"}]}}}}
{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"ORG"}]}}}}
` + otherViewType + `
what the sinks take: whole`},
		{"a view guarded by item heals by what its when does not take", `
sinks:
  users: {view: {table: rows, key: {PK: '{Email}'}, when: 'item.Type == "User"'}}`, pushdown.Options{}, `
what the sinks take: not, users needs every change: a view whose rows are guarded by item compares an item with the row that it has, not with the old image`},
		{"an archive of what was removed", `
filters:
  - drop: {not: {changed: [Status]}}
  - keep: {op: [REMOVE]}
sinks:
  gone: {archive: {bucket: bucket, kinds: [user_delete, ttl_delete]}}`, pushdown.Options{}, `
filter "drop_not": not, changed, unchanged, no_change, replication_echoes: Lambda cannot compare the old image with the new
filter "keep_op": not, filter "drop_not" before it can fail on a record, which then goes to dead letters
what the sinks take: not, filter "drop_not" before it can fail on a record, which then goes to dead letters`},
		{"Go code passes all records, and can fail", `
filters:
  - keep: {key_prefix: {PK: 'USER#'}}
  - func: eu
  - keep: {op: [REMOVE]}
sinks:
  gone: {archive: {bucket: bucket, kinds: [user_delete]}}`, pushdown.Options{}, `
{"dynamodb":{"Keys":{"PK":{"B":[{"prefix":"VVNFUiM"},{"prefix":"VVNFUiN"},{"prefix":"VVNFUiO"},{"prefix":"VVNFUiP"}]}}}}
{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"USER#"}]}}}}
filter "keep_key_prefix": whole
filter "eu": not, a function of Go: Lambda cannot call it
filter "keep_op": not, filter "eu" before it can fail on a record, which then goes to dead letters
what the sinks take: not, filter "eu" before it can fail on a record, which then goes to dead letters`},
		{"Go code under a sink", `
sinks:
  gone: {archive: {bucket: bucket, filters: [{func: eu}]}}`, pushdown.Options{}, `
what the sinks take: not, gone needs every change: Lambda cannot ask what its of, its filters and its when ask`},
		{"who removed it", `
filters:
  - drop: ttl_deletes
sinks:
  gone: {archive: {bucket: bucket, kinds: [user_delete]}}`, pushdown.Options{}, `
{"eventName":[{"anything-but":["INSERT","MODIFY"]}]}
filter "ttl_deletes": not, ttl_deletes: that Lambda can ask for userIdentity is unproven; --match-user-identity has it asked
what the sinks take: in part, ttl_deletes: that Lambda can ask for userIdentity is unproven; --match-user-identity has it asked`},
		{"who removed it, asked", `
sinks:
  gone: {archive: {bucket: bucket, kinds: [ttl_delete]}}`, pushdown.Options{MatchUserIdentity: true}, `
{"eventName":["REMOVE"],"userIdentity":{"principalId":["dynamodb.amazonaws.com"],"type":["Service"]}}
what the sinks take: whole`},
		{"more than Lambda takes", `
filters:
  - keep: {any: [{key_prefix: {A: a}}, {key_prefix: {B: b}}, {key_prefix: {C: c}}]}
sinks:
  all: {archive: {bucket: bucket}}`, pushdown.Options{}, `
filter "keep_any": not, the patterns would be 6, or longer than 4096 characters; an event source mapping takes 5
what the sinks take: not, all needs every change: it archives every change`},
		{"documents of elements: the item's condition comes first", `
sinks:
  lines: {search: {index: lines, for_each: Lines, when: 'item.Status == "paid"'}}`, pushdown.Options{}, `
{"dynamodb":{"NewImage":{"Status":{"S":["paid"]}}}}
{"dynamodb":{"OldImage":{"Status":{"S":["paid"]}}}}
` + otherViewType + `
what the sinks take: whole`},
		{"documents of elements: those of a new image are listed before its condition reads them", `
sinks:
  lines: {search: {index: lines, for_each: Lines, when: 'item.Status == "paid" && each.qty > 1'}}`, pushdown.Options{}, `
{"dynamodb":{"OldImage":{"Status":{"S":["paid"]}}}}
{"eventName":[{"anything-but":["REMOVE"]}]}
` + otherViewType + `
what the sinks take: in part, a part of an expression: Lambda is asked only for texts, BOOLs and op, with ==, !=, in and startsWith; for_each: the elements of a new image are listed before a ` + "`when`" + ` that reads each is evaluated`},
		{"documents of elements: so is the index", `
sinks:
  lines: {search: {index: 'lines-{Shop}', create: on_demand, for_each: Lines, when: 'item.Status == "paid" && each.qty > 1'}}`, pushdown.Options{}, `
what the sinks take: not, lines needs every change: Lambda cannot ask what its of, its filters and its when ask`},
		{"rows of elements are guarded by item", `
sinks:
  lines: {view: {table: lines, for_each: Lines, key: {PK: '{@key}', SK: '{@each}'}, when: 'item.Status == "paid"'}}`, pushdown.Options{}, `
what the sinks take: not, lines needs every change: a view whose rows are guarded by item compares an item with the row that it has, not with the old image`},
		{"a condition of an entity that cannot fail comes before when", `
entities: {Order: {key: {PK: '{OrderId}'}, when: 'item.Type == "Order"'}, User: {key: {PK: '{UserId}'}, when: 'item.Type == "User"'}}
sinks:
  orders: {view: {of: Order, table: rows, key: {PK: '{@key}'}, when: 'item.Status == "paid"'}}`, pushdown.Options{}, `
{"dynamodb":{"NewImage":{"Status":{"S":["paid"]},"Type":{"S":["Order"]}}}}
{"dynamodb":{"OldImage":{"Status":{"S":["paid"]},"Type":{"S":["Order"]}}}}
` + otherViewType + `
what the sinks take: whole`},
		{"one that can fail passes whatever when says", `
entities: {Order: {key: {PK: 'ORDER#{OrderId}'}, when: 'item.Total > 5'}}
sinks:
  orders: {view: {of: Order, table: rows, key: {PK: '{@key}'}, when: 'item.Status == "paid"'}}`, pushdown.Options{}, `
{"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"ORDER#"}]}}}}
` + otherViewType + `
what the sinks take: in part, a part of an expression: Lambda is asked only for texts, BOOLs and op, with ==, !=, in and startsWith; of Order: Lambda is asked how a key begins, and not for the rest of a pattern; of Order: its ` + "`when`" + ` is evaluated first and can fail, which is for dead letters`},
		{"names that Lambda takes for others", `
sinks:
  all: {archive: {bucket: bucket, when: 'new["a.b"] == "x" && op != "REMOVE"'}}`, pushdown.Options{}, `
{"eventName":[{"anything-but":["REMOVE"]}]}
what the sinks take: in part, a.b: a name with a dot or a $ means something else to Lambda`},
	} {
		cfg, err := config.Parse("tablewake.yaml", []byte("version: 1\nname: x\nsource: {table: shop}\n"+tt.file), noEnv)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		plan, err := pushdown.New(cfg, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		got := append([]string{""}, plan.Patterns...)
		for _, p := range plan.Parts {
			line := fmt.Sprintf("%s: %s", p.What, p.Pushed)
			if len(p.Left) > 0 {
				line += ", " + strings.Join(p.Left, "; ")
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestKinesisIsNotFiltered(t *testing.T) {
	cfg, err := config.Parse("tablewake.yaml", []byte(`
version: 1
name: x
source: {table: shop, kinesis: 'arn:aws:kinesis:eu-central-1:123456789012:stream/shop'}
filters: [{keep: {op: [REMOVE]}}]
sinks: {all: {archive: {bucket: bucket}}}`), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pushdown.New(cfg, pushdown.Options{})
	if err != nil || plan.Patterns != nil || len(plan.Parts) != 1 || plan.Parts[0].Pushed != pushdown.NotAtAll {
		t.Errorf("%+v, %v", plan, err)
	}
}

func TestLimit(t *testing.T) {
	for _, limit := range []int{-1, 11} {
		if _, err := pushdown.New(&config.Config{}, pushdown.Options{Limit: limit}); err == nil {
			t.Errorf("a limit of %d was taken", limit)
		}
	}
}
