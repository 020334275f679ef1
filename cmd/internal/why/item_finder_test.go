package why

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
)

const (
	oneTable  = "version: 1\nname: shop\nsource: {table: orders}\nsinks: {log: {archive: {bucket: b, prefix: log/}}}\n"
	twoTables = "version: 1\nname: shop\nsource: {tables: [orders, users]}\nsinks: {log: {archive: {bucket: b, prefix: log/}}}\n"
)

// serveTable serves a DynamoDB table with the key attributes PK and SK, whose only item has PK=ORDER#1 and SK=A.
// batchGet, if not nil, answers each BatchGetItem instead.
func serveTable(t *testing.T, batchGet http.HandlerFunc) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable") {
			_, _ = io.WriteString(w, `{"Table":{"TableStatus":"ACTIVE","KeySchema":[`+
				`{"AttributeName":"SK","KeyType":"RANGE"},{"AttributeName":"PK","KeyType":"HASH"}]}}`)
			return
		}
		if batchGet != nil {
			batchGet(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		found := ""
		if strings.Contains(string(body), `{"S":"ORDER#1"}`) {
			found = `{"PK":{"S":"ORDER#1"},"SK":{"S":"A"},"Total":{"N":"1"}}`
		}
		_, _ = io.WriteString(w, `{"Responses":{"orders":[`+found+`]}}`)
	}))
	t.Cleanup(srv.Close)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": srv.URL, "AWS_ACCESS_KEY_ID": "a",
		"AWS_SECRET_ACCESS_KEY": "a", "AWS_REGION": "eu-central-1", "AWS_MAX_ATTEMPTS": "1"} {
		t.Setenv(name, value)
	}
}

// findLive finds the item of a key in the source table orders.
func findLive(t *testing.T, text, key string) (foundItem, error) {
	t.Helper()
	cfg, err := config.Parse("shop.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	o := options{key: key, table: "orders"}
	o.Live = true
	f, err := newFinder(&o, cfg)
	if err != nil {
		return foundItem{}, err
	}
	return f.item(t.Context(), cli.Streams{}, nil)
}

// A canonical key finds its item with and without the prefix of the table, whether keys have this prefix or not.
func TestItem_CanonicalKey(t *testing.T) {
	serveTable(t, nil)
	for text, prefix := range map[string]string{oneTable: "", twoTables: "orders!"} {
		for _, key := range []string{"ORDER%231,A", "orders!ORDER%231,A", "PK=ORDER#1,SK=A"} {
			found, err := findLive(t, text, key)
			if want := prefix + "ORDER%231,A"; err != nil || !found.Change.New.Exists() || string(found.Change.Key) != want {
				t.Errorf("%s is %+v %v, want %s", key, found.Change, err, want)
			}
		}
		found, err := findLive(t, text, "ORDER%232,A")
		if want := prefix + "ORDER%232,A"; err != nil || !found.Change.Removed() || string(found.Change.Key) != want {
			t.Errorf("an item that is not there is %+v %v, want %s", found.Change, err, want)
		}
	}
}

// A key that the table cannot have is refused, with what is wrong in it.
func TestItem_WrongKey(t *testing.T) {
	serveTable(t, nil)
	for key, want := range map[string]string{
		"ORDER%231":           "ORDER%231 is not a key of the table, whose key is PK, SK",
		"PK=ORDER#1":          "the key attribute SK of orders is missing",
		"PK=ORDER#1,Status=A": "Status is not a key attribute of the table, whose key is PK, SK",
		"users!ORDER%231,A":   `"users!ORDER%231,A" is a key of the table users, and not of orders`,
	} {
		for _, text := range []string{oneTable, twoTables} {
			if _, err := findLive(t, text, key); err == nil || !strings.Contains(err.Error(), want) || cli.ExitCode(err) != cli.ExitUsage {
				t.Errorf("--key %s: %v, want %s", key, err, want)
			}
		}
	}
}

// If the table throttles the read, why repeats it a few times, and then ends with an error.
func TestItem_Throttled(t *testing.T) {
	var requests atomic.Int64
	for name, answer := range map[string]http.HandlerFunc{
		"refused": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"slow down"}`)
		},
		"not processed": func(w http.ResponseWriter, r *http.Request) {
			var in struct{ RequestItems json.RawMessage }
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, `{"Responses":{},"UnprocessedKeys":`+string(in.RequestItems)+`}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			requests.Store(0)
			serveTable(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				answer(w, r)
			})
			_, err := findLive(t, oneTable, "ORDER%231,A")
			if err == nil || !strings.Contains(err.Error(), "orders throttles the read") || requests.Load() < 2 {
				t.Errorf("%d requests, %v", requests.Load(), err)
			}
		})
	}
}
