package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/test/e2e/world"
)

type image = map[string]types.AttributeValue

// servers changes DynamoDB and OpenSearch by their interfaces. It first reads their contents, changes the contents in
// memory, and writes the changes at the end.
type servers struct {
	t      *testing.T
	names  world.Names
	tables *dynamodb.Client
	http   *http.Client
	search string // endpoint of OpenSearch

	now, old stored
	targets  map[string]string // by sink: the part of keys of the state table after the kind
	dirty    map[string]map[string]bool
}

// stored has the contents of the servers: items by table and key, and documents by index and id.
type stored struct {
	items     map[string]map[string]image
	documents map[string]map[string]map[string]any
}

func text1(it image, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func textValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// keyOf returns the key of an item of a table of rows or of the state table.
func keyOf(it image) string {
	if pk := text1(it, "pk"); pk != "" {
		return pk + " " + text1(it, "sk")
	}
	return text1(it, "PK") + " " + text1(it, "SK")
}

// readAll reads the tables and the indexes.
func (s *servers) readAll() stored {
	s.t.Helper()
	all := stored{make(map[string]map[string]image), make(map[string]map[string]map[string]any)}
	for _, table := range []string{s.names.Table, s.names.State} {
		all.items[table] = make(map[string]image)
		pages := dynamodb.NewScanPaginator(s.tables, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(s.t.Context())
			if err != nil {
				s.t.Fatal(err)
			}
			for _, it := range page.Items {
				all.items[table][keyOf(it)] = it
			}
		}
	}
	for _, index := range []string{"exact", "fast"} {
		all.documents[index] = s.readIndex(index)
	}
	return all
}

// physical returns the name of the index behind the alias.
func (s *servers) physical(index string) string { return s.names.Index + "-" + index + ".tw1" }

func (s *servers) readIndex(index string) map[string]map[string]any {
	s.t.Helper()
	s.ask(http.MethodPost, "/"+s.physical(index)+"/_refresh", nil)
	all := make(map[string]map[string]any)
	path, body := "/"+s.physical(index)+"/_search?scroll=2m", []byte(`{"size":5000,"sort":["_doc"]}`)
	for {
		var page struct {
			Scroll string `json:"_scroll_id"`
			Hits   struct {
				Hits []struct {
					ID     string         `json:"_id"`
					Source map[string]any `json:"_source"`
				}
			}
		}
		if err := json.Unmarshal(s.ask(http.MethodPost, path, body), &page); err != nil {
			s.t.Fatal(err)
		}
		for _, h := range page.Hits.Hits {
			all[h.ID] = h.Source
		}
		path, body = "/_search/scroll", fmt.Appendf(nil, `{"scroll":"2m","scroll_id":%q}`, page.Scroll)
		if len(page.Hits.Hits) == 0 {
			s.ask(http.MethodDelete, "/_search/scroll", fmt.Appendf(nil, `{"scroll_id":%q}`, page.Scroll))
			return all
		}
	}
}

// ask sends a request to OpenSearch.
func (s *servers) ask(method, path string, body []byte) []byte {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(s.t.Context()), method, s.search+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.http.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= http.StatusBadRequest {
		s.t.Fatalf("%s %s: %s %v %.500s", method, path, answer.Status, err, b)
	}
	return b
}

func (s *servers) remember() { s.old = s.readAll() }

// begin reads the contents that the injections change.
func (s *servers) begin() {
	s.now, s.dirty, s.targets = s.readAll(), make(map[string]map[string]bool), make(map[string]string)
	for _, it := range s.now.items[s.names.State] {
		if parts := strings.Split(text1(it, "pk"), "#"); len(parts) > 5 {
			s.targets[parts[2]] = strings.Join(parts[2:5], "#")
		}
	}
}

// done writes the changes.
func (s *servers) done() error {
	var errs []error
	for _, table := range []string{s.names.Table, s.names.State} {
		var writes []types.WriteRequest
		for key := range s.dirty[table] {
			if it := s.now.items[table][key]; it != nil {
				writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
			} else {
				pk, sk, _ := strings.Cut(key, " ")
				names := []string{"PK", "SK"}
				if table == s.names.State {
					names = []string{"pk", "sk"}
				}
				writes = append(writes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: image{names[0]: textValue(pk), names[1]: textValue(sk)}}})
			}
		}
		errs = append(errs, s.write(table, writes))
	}
	for index, dirty := range s.dirty {
		if s.now.documents[index] == nil {
			continue
		}
		var lines bytes.Buffer
		for id := range dirty {
			if doc := s.now.documents[index][id]; doc != nil {
				b, err := json.Marshal(doc)
				errs = append(errs, err)
				fmt.Fprintf(&lines, "{\"index\":{\"_id\":%q}}\n%s\n", id, b)
			} else {
				fmt.Fprintf(&lines, "{\"delete\":{\"_id\":%q}}\n", id)
			}
		}
		if lines.Len() == 0 {
			continue
		}
		if answer := s.ask(http.MethodPost, "/"+s.physical(index)+"/_bulk?refresh=true", lines.Bytes()); bytes.Contains(answer, []byte(`"errors":true`)) {
			errs = append(errs, fmt.Errorf("bulk: %.500s", answer))
		}
	}
	return errors.Join(errs...)
}

// write writes items of a table.
func (s *servers) write(table string, writes []types.WriteRequest) error {
	for chunk := range slices.Chunk(writes, 25) {
		for len(chunk) > 0 {
			out, err := s.tables.BatchWriteItem(s.t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: chunk}})
			if err != nil {
				return err
			}
			chunk = out.UnprocessedItems[table]
		}
	}
	return nil
}

func (s *servers) mark(where, key string) {
	if s.dirty[where] == nil {
		s.dirty[where] = make(map[string]bool)
	}
	s.dirty[where][key] = true
}

// put replaces an item, or deletes the item if it is nil.
func (s *servers) put(table, key string, it image) {
	s.mark(table, key)
	if it == nil {
		delete(s.now.items[table], key)
		return
	}
	s.now.items[table][key] = it
}

// get returns a copy of an item. The item must exist.
func (s *servers) get(from *stored, table, key string) image {
	s.t.Helper()
	it := from.items[table][key]
	if it == nil {
		s.t.Fatalf("%s has no %q", table, key)
	}
	it = maps.Clone(it)
	if own, ok := it["_tw"].(*types.AttributeValueMemberM); ok {
		it["_tw"] = &types.AttributeValueMemberM{Value: maps.Clone(own.Value)}
	}
	return it
}

func (s *servers) row(pk, sk string) image { return s.get(&s.now, s.names.Table, pk+" "+sk) }

func (s *servers) putRow(it image) { s.put(s.names.Table, keyOf(it), it) }

func own(it image) image { return it["_tw"].(*types.AttributeValueMemberM).Value }

// kept returns the key of an entry of an item or a row in the state table.
func (s *servers) kept(kind, sink, of, sk string) string {
	return s.names.Pipeline + "#" + kind + "#" + s.targets[sink] + "#" + of + " " + sk
}

func (s *servers) state(key string) image { return s.get(&s.now, s.names.State, key) }

// putState puts an item of the state table under a key.
func (s *servers) putState(key string, it image) {
	if it != nil {
		pk, sk, _ := strings.Cut(key, " ")
		it["pk"], it["sk"] = textValue(pk), textValue(sk)
	}
	s.put(s.names.State, key, it)
}

func (s *servers) restoreRow(pk, sk string) {
	s.putRow(s.get(&s.old, s.names.Table, pk+" "+sk))
}

func (s *servers) restoreShares(sink, item string) {
	key := s.kept("contribution", sink, item, "-")
	s.putState(key, s.get(&s.old, s.names.State, key))
}

func (s *servers) restoreDocument(index, id string) {
	s.mark(index, id)
	s.now.documents[index][id] = s.old.documents[index][id]
}

func (s *servers) removeRow(pk, sk string) {
	s.row(pk, sk) // fails the test if there is no such row
	s.put(s.names.Table, pk+" "+sk, nil)
}

func (s *servers) changeRow(pk, sk, attribute, text string) {
	it := s.row(pk, sk)
	it[attribute] = textValue(text)
	s.putRow(it)
}

func (s *servers) copyRow(pk, sk, toPK, toSK, source string) {
	it := s.row(pk, sk)
	it["PK"], it["SK"] = textValue(toPK), textValue(toSK)
	if source != "" {
		own(it)["src"] = textValue(source)
	}
	s.putRow(it)
}

func (s *servers) setOwn(pk, sk, name, text string) {
	it := s.row(pk, sk)
	own(it)[name] = textValue(text)
	s.putRow(it)
}

func (s *servers) setSource(pk, sk, source string) { s.setOwn(pk, sk, "src", source) }
func (s *servers) setBirth(pk, sk string)          { s.setOwn(pk, sk, "birth", "another") }

func (s *servers) buryRow(pk, sk, version string) {
	it := s.row(pk, sk)
	own(it)["v"] = textValue(version)
	s.putRow(image{"PK": it["PK"], "SK": it["SK"], "_tw": it["_tw"], "_tw_expires": &types.AttributeValueMemberN{Value: "4102444800"}})
}

func (s *servers) addTombstone(sink, pk, sk, source, version string) {
	s.putState(s.kept("tombstone", sink, rowPlace(pk, sk), "-"), image{
		"version": textValue(version), "item": textValue(source), "written": &types.AttributeValueMemberN{Value: "1772323200000000000"}, "expires": &types.AttributeValueMemberN{Value: "4102444800"},
	})
}

func (s *servers) removeGuard(item string) {
	s.state(s.kept("guard", "names", item, "-"))
	s.putState(s.kept("guard", "names", item, "-"), nil)
}

func (s *servers) setGuard(item, row string) {
	it := s.state(s.kept("guard", "names", item, "-"))
	it["row"] = textValue(row)
	s.putState(keyOf(it), it)
}

func (s *servers) copyGuard(from, to string) {
	s.putState(s.kept("guard", "names", to, "-"), s.state(s.kept("guard", "names", from, "-")))
}

func (s *servers) claim(row, item string) string { return s.kept("seat", "names", row, "claim#"+item) }

func (s *servers) removeClaim(row, item string) {
	s.state(s.claim(row, item))
	s.putState(s.claim(row, item), nil)
}

func (s *servers) changeClaim(row, item, attribute, text string) {
	it := s.state(s.claim(row, item))
	for i, name := range it["names"].(*types.AttributeValueMemberL).Value {
		if name.(*types.AttributeValueMemberS).Value == attribute {
			it["v"+strconv.Itoa(i)] = textValue(text)
		}
	}
	s.putState(keyOf(it), it)
}

func (s *servers) copyClaim(row, from, to string) {
	it := s.state(s.claim(row, from))
	it["item"] = textValue(to)
	s.putState(s.claim(row, to), it)
}

func (s *servers) setOwner(row, item string) {
	it := s.state(s.kept("seat", "names", row, "-"))
	it["holder"] = textValue(item)
	s.putState(keyOf(it), it)
}

func (s *servers) removeShares(sink, item string) {
	s.state(s.kept("contribution", sink, item, "-"))
	s.putState(s.kept("contribution", sink, item, "-"), nil)
}

func (s *servers) copyShares(sink, from, to string) {
	it := s.state(s.kept("contribution", sink, from, "-"))
	if before := s.now.items[s.names.State][s.kept("contribution", sink, to, "-")]; before != nil {
		it["version"] = before["version"]
	}
	s.putState(s.kept("contribution", sink, to, "-"), it)
}

func (s *servers) changeSum(pk, sk string, by int) {
	it := s.row(pk, sk)
	n, err := strconv.ParseFloat(it["value"].(*types.AttributeValueMemberN).Value, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	it["value"] = &types.AttributeValueMemberN{Value: strconv.FormatFloat(n+float64(by), 'f', -1, 64)}
	s.putRow(it)
}

func (s *servers) changeShareCount(pk, sk string) {
	it := s.row(pk, sk)
	n, err := strconv.Atoi(it["_tw_shares"].(*types.AttributeValueMemberN).Value)
	if err != nil {
		s.t.Fatal(err)
	}
	it["_tw_shares"] = &types.AttributeValueMemberN{Value: strconv.Itoa(n + 1)}
	s.putRow(it)
}

// member returns the key of the entry of an item among the members of a group's row.
func (s *servers) member(pk, sk, value, item string) string {
	s.t.Helper()
	prefix := s.kept("member", "totals", rowPlace(pk, sk), "")
	prefix = strings.TrimSuffix(prefix, " ") + "#" + value + " "
	for key := range s.now.items[s.names.State] {
		if strings.HasPrefix(key, prefix) && strings.HasSuffix(key, "\x00"+item) {
			return key
		}
	}
	s.t.Fatalf("there is no member %s... of %s", prefix, item)
	return ""
}

func (s *servers) removeMember(pk, sk, value, item string) {
	s.putState(s.member(pk, sk, value, item), nil)
}

func (s *servers) copyMember(pk, sk, value, from, to string) {
	key := s.member(pk, sk, value, from)
	s.putState(strings.TrimSuffix(key, from)+to, s.state(key))
}

func (s *servers) document(index, id string) map[string]any {
	s.t.Helper()
	doc := s.now.documents[index][id]
	if doc == nil {
		s.t.Fatalf("%s has no %s", index, id)
	}
	doc = maps.Clone(doc)
	doc["_tw"] = maps.Clone(doc["_tw"].(map[string]any))
	return doc
}

func (s *servers) putDocument(index, id string, doc map[string]any) {
	s.mark(index, id)
	s.now.documents[index][id] = doc
}

func (s *servers) removeDocument(index, id string) {
	s.document(index, id)
	s.putDocument(index, id, nil)
}

func (s *servers) changeDocument(index, id, field, text string) {
	doc := s.document(index, id)
	doc[field] = text
	s.putDocument(index, id, doc)
}

func (s *servers) copyDocument(index, id, to string) {
	s.putDocument(index, to, s.document(index, id))
}

func (s *servers) buryDocument(index, id, version string) {
	doc := s.document(index, id)
	mark := doc["_tw"].(map[string]any)
	mark["version"], mark["deleted"], mark["gone"] = version, true, "2026-03-01T00:00:00Z"
	s.putDocument(index, id, map[string]any{"_tw": mark})
}

func (s *servers) setDocumentBirth(index, id string) {
	doc := s.document(index, id)
	doc["_tw"].(map[string]any)["birth"] = "another"
	s.putDocument(index, id, doc)
}

// read returns the contents that readers find on the servers.
func (s *servers) read() contents {
	all, c := s.readAll(), make(contents)
	for _, it := range all.items[s.names.Table] {
		if it["_tw_expires"] != nil {
			continue
		}
		attributes := make(map[string]string)
		for name, v := range it {
			switch v := v.(type) {
			case *types.AttributeValueMemberS:
				attributes[name] = v.Value
			case *types.AttributeValueMemberN:
				attributes[name] = v.Value
			}
		}
		maps.DeleteFunc(attributes, func(name, _ string) bool { return name == "PK" || name == "SK" || strings.HasPrefix(name, "_tw") })
		c.add(text1(it, "PK"), text1(it, "SK"), attributes)
	}
	for index, docs := range all.documents {
		for id, doc := range docs {
			if deleted, _ := doc["_tw"].(map[string]any)["deleted"].(bool); deleted {
				continue
			}
			b, err := json.Marshal(doc)
			if err != nil {
				s.t.Fatal(err)
			}
			c.document(index, id, b)
		}
	}
	return c
}
