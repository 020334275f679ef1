package clitest

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// OnStream is a Streams API with an empty table shop, and a file that reads it.
func OnStream(t *testing.T) (api *streamtest.Server, file string) {
	t.Helper()
	api = streamtest.New(streamtest.Options{PageRecords: 2})
	api.AddStream("shop")
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", server.URL)
	t.Setenv("AWS_ENDPOINT_URL_STS", server.URL)
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	file = filepath.Join(t.TempDir(), "shop.yaml")
	text := "version: 1\nname: shop\nsource: {table: shop, polling: {max_idle: 50ms}}\nsinks: {orders: {view: {table: orders, key: {PK: 'STATUS#{Status}', SK: '{@key}'}}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
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
