package upgrade

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/test/e2e/world"
)

// dump has everything that a pipeline has on servers. It includes the ids that the servers gave to tables and indexes,
// because stored text contains these ids, and a table or an index that is made again has another id.
type dump struct {
	Tables  []dumpedTable  `json:"tables"`
	Indexes []dumpedIndex  `json:"indexes"`
	Objects []dumpedObject `json:"objects"`
}

type dumpedTable struct {
	Name       string                      `json:"name"`
	ID         string                      `json:"id"`
	Key        []types.KeySchemaElement    `json:"key"`
	Attributes []types.AttributeDefinition `json:"attributes"`
	Items      []json.RawMessage           `json:"items"` // in DynamoDB JSON
}

type dumpedIndex struct {
	Name     string                     `json:"name"`
	ID       string                     `json:"id"`
	Settings map[string]json.RawMessage `json:"settings"`
	Mappings json.RawMessage            `json:"mappings"`
	Aliases  json.RawMessage            `json:"aliases"`
	Docs     []dumpedDoc                `json:"docs"`
}

type dumpedDoc struct {
	ID      string          `json:"_id"`
	Version int64           `json:"_version"`
	Source  json.RawMessage `json:"_source"`
}

type dumpedObject struct {
	Bucket   string            `json:"bucket"`
	Key      string            `json:"key"`
	Type     string            `json:"type"`
	Metadata map[string]string `json:"metadata"`
	Body     []byte            `json:"body"`
}

// sinkRecords is the index with the records of all sinks of all pipelines.
const sinkRecords = "tablewake"

// save writes everything that the pipeline has on servers to the recording.
func (r *recording) save(t *testing.T, w *world.World) error {
	t.Helper()
	var d dump
	for _, name := range []string{names.Table, names.State, leaseTable} {
		d.Tables = append(d.Tables, dumpTable(t, w, name))
	}
	for _, name := range append(w.Indexes(t), sinkRecords) {
		d.Indexes = append(d.Indexes, dumpIndex(t, w, name))
	}
	for _, bucket := range []string{w.Bucket, w.Bucket + "-dead"} {
		d.Objects = append(d.Objects, dumpBucket(t, w, bucket)...)
	}
	f, err := os.Create(r.path("servers.json.gz"))
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	e := json.NewEncoder(z)
	e.SetIndent("", " ")
	return errors.Join(e.Encode(d), z.Close(), f.Close())
}

func dumpTable(t *testing.T, w *world.World, name string) dumpedTable {
	t.Helper()
	tables := dynamodb.NewFromConfig(w.SDK)
	is, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	d := dumpedTable{Name: name, ID: tableID(is.Table), Key: is.Table.KeySchema, Attributes: is.Table.AttributeDefinitions}
	pages := dynamodb.NewScanPaginator(tables, &dynamodb.ScanInput{TableName: &name, ConsistentRead: new(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			image, err := sdkvalue.Image(it)
			if err != nil {
				t.Fatal(err)
			}
			d.Items = append(d.Items, image.AppendDynamoDBJSON(nil))
		}
	}
	return d
}

// tableID returns the id of a table that the state stores beside the ARN.
func tableID(d *types.TableDescription) string {
	if d.TableId != nil {
		return *d.TableId
	}
	return aws.ToTime(d.CreationDateTime).UTC().Format("2006-01-02T15:04:05.000Z")
}

func dumpIndex(t *testing.T, w *world.World, name string) dumpedIndex {
	t.Helper()
	w.Search(t, http.MethodPost, "/"+name+"/_refresh", "")
	var is map[string]struct {
		Settings struct {
			Index map[string]json.RawMessage `json:"index"`
		} `json:"settings"`
		Mappings json.RawMessage `json:"mappings"`
		Aliases  json.RawMessage `json:"aliases"`
	}
	if err := json.Unmarshal(w.Search(t, http.MethodGet, "/"+name, ""), &is); err != nil {
		t.Fatal(err)
	}
	of := is[name]
	d := dumpedIndex{Name: name, Settings: of.Settings.Index, Mappings: of.Mappings, Aliases: of.Aliases}
	if err := json.Unmarshal(d.Settings["uuid"], &d.ID); err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{"uuid", "creation_date", "provided_name", "version"} { // the server sets them
		delete(d.Settings, own)
	}
	var found struct {
		Hits struct {
			Hits []dumpedDoc `json:"hits"`
		} `json:"hits"`
	}
	body := w.Search(t, http.MethodPost, "/"+name+"/_search", `{"size": 10000, "version": true, "query": {"match_all": {}}}`)
	if err := json.Unmarshal(body, &found); err != nil {
		t.Fatal(err)
	}
	for _, doc := range found.Hits.Hits {
		if name != sinkRecords || strings.HasPrefix(doc.ID, names.Pipeline+",") { // the index has records of other tests, too
			d.Docs = append(d.Docs, doc)
		}
	}
	return d
}

func dumpBucket(t *testing.T, w *world.World, bucket string) (all []dumpedObject) {
	t.Helper()
	objects := s3.NewFromConfig(w.SDK)
	pages := s3.NewListObjectsV2Paginator(objects, &s3.ListObjectsV2Input{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			got, err := objects.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: o.Key})
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(got.Body)
			if err := errors.Join(err, got.Body.Close()); err != nil {
				t.Fatal(err)
			}
			all = append(all, dumpedObject{bucket, *o.Key, aws.ToString(got.ContentType), got.Metadata, body})
		}
	}
	return all
}

// restore makes everything that was saved. It replaces the ids of tables and indexes in stored text by the ids of the
// new ones.
func (r *recording) restore(t *testing.T, w *world.World) error {
	t.Helper()
	f, err := os.Open(r.path("servers.json.gz"))
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	var d dump
	if err := json.NewDecoder(z).Decode(&d); err != nil {
		return err
	}
	ids := make(map[string]string) // new ids by saved ids
	for _, table := range d.Tables {
		ids[table.ID] = createTable(t, w, table)
	}
	for _, index := range d.Indexes {
		if index.Name != sinkRecords {
			ids[index.ID] = createIndex(t, w, index)
		} else if len(w.Search(t, http.MethodGet, "/_cat/indices/"+sinkRecords+"*?h=index&expand_wildcards=all", "")) == 0 {
			createIndex(t, w, index)
		}
	}
	if len(ids) != len(d.Tables)+len(d.Indexes)-1 {
		return fmt.Errorf("two tables or indexes have one id: %v", ids)
	}
	for _, table := range d.Tables {
		fillTable(t, w, table, ids)
	}
	for _, index := range d.Indexes {
		fillIndex(t, w, index, ids)
	}
	objects := s3.NewFromConfig(w.SDK)
	for _, o := range d.Objects {
		_, err := objects.PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: &o.Bucket, Key: &o.Key, ContentType: &o.Type, Metadata: o.Metadata, Body: bytes.NewReader(o.Body),
			ChecksumAlgorithm: s3types.ChecksumAlgorithmCrc32c,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func createTable(t *testing.T, w *world.World, d dumpedTable) (id string) {
	t.Helper()
	made, err := dynamodb.NewFromConfig(w.SDK).CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &d.Name, BillingMode: types.BillingModePayPerRequest, KeySchema: d.Key, AttributeDefinitions: d.Attributes,
	})
	if err != nil {
		t.Fatal(err)
	}
	return tableID(made.TableDescription)
}

func fillTable(t *testing.T, w *world.World, d dumpedTable, ids map[string]string) {
	t.Helper()
	for _, text := range d.Items {
		image, err := item.Parse(renamed(text, ids))
		if err == nil {
			_, err = dynamodb.NewFromConfig(w.SDK).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &d.Name, Item: sdkvalue.Item(image)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func createIndex(t *testing.T, w *world.World, d dumpedIndex) (id string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"settings": map[string]any{"index": d.Settings}, "mappings": d.Mappings, "aliases": d.Aliases})
	if err != nil {
		t.Fatal(err)
	}
	w.Search(t, http.MethodPut, "/"+d.Name, string(body))
	return dumpIndex(t, w, d.Name).ID
}

// fillIndex writes the documents with their saved versions.
func fillIndex(t *testing.T, w *world.World, d dumpedIndex, ids map[string]string) {
	t.Helper()
	var bulk strings.Builder
	for _, doc := range d.Docs {
		version := ""
		if d.Name != sinkRecords { // this index is not created again, and remembers the versions of deleted documents
			version = fmt.Sprintf(`,"version":%d,"version_type":"external"`, doc.Version)
		}
		fmt.Fprintf(&bulk, `{"index":{"_index":%q,"_id":%q%s}}`+"\n", d.Name, doc.ID, version)
		var source bytes.Buffer
		if err := json.Compact(&source, renamed(doc.Source, ids)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&bulk, source.String())
	}
	if bulk.Len() == 0 {
		return
	}
	answer := w.Search(t, http.MethodPost, "/_bulk?refresh=true", bulk.String())
	if !bytes.Contains(answer, []byte(`"errors":false`)) {
		t.Fatalf("%s: %.500s", d.Name, answer)
	}
}

// renamed returns text with the new ids.
func renamed(text []byte, ids map[string]string) []byte {
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		text = bytes.ReplaceAll(text, []byte(id), []byte(ids[id]))
	}
	return text
}
