package clitest

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// NewStream returns a Streams API with an empty table shop, a configuration file that reads the table, and the
// environment that points to the API.
func NewStream(t *testing.T) (api *streamtest.Server, file string, env []string) {
	t.Helper()
	api = streamtest.New(streamtest.Options{PageRecords: 2})
	api.AddStream("shop")
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	file = filepath.Join(t.TempDir(), "shop.yaml")
	text := "version: 1\nname: shop\nsource: {table: shop, polling: {max_idle: 50ms}}\nsinks: {orders: {view: {table: orders, key: {PK: 'STATUS#{Status}', SK: '{@key}'}}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return api, file, []string{
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + server.URL, "AWS_ENDPOINT_URL_STS=" + server.URL,
		"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
	}
}

// OnStream calls [NewStream], and sets the returned environment in the process of the test.
func OnStream(t *testing.T) (api *streamtest.Server, file string) {
	t.Helper()
	api, file, env := NewStream(t)
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	return api, file
}

// Put writes an order into the table.
func Put(t *testing.T, table *streamtest.Table, n int, status string) streamtest.Written {
	t.Helper()
	w, err := table.Put(fmt.Sprintf(`{"PK":{"S":"ORDER#%d"},"SK":{"S":"META"},"Status":{"S":%q}}`, n, status))
	if err != nil {
		t.Fatal(err)
	}
	return w
}
