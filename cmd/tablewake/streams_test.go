package main

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// shopStreams returns the endpoint of a Streams API with two tables. The stream of shop has a shard with three records
// and two open children with one record each. The stream of calm is empty and switched off.
func shopStreams(t *testing.T) string {
	api := streamtest.New(streamtest.Options{PageRecords: 2})
	api.AddStream("calm").Disable()
	shop := api.AddStream("shop")
	order := func(n int, status string) streamtest.Record {
		key := fmt.Sprintf(`{"PK":{"S":"ORDER#%d"}`, n)
		return streamtest.Record{Keys: key + "}", New: key + fmt.Sprintf(`,"Status":{"S":%q}}`, status)}
	}
	root := shop.Shards()[0]
	shop.Put(root, order(1, "paid"), order(2, "paid"), streamtest.Record{Raw: `{"eventName":"INSERT"}`})
	for i, child := range shop.Split(root, 2) {
		shop.Put(child, order(3+i, "shipped"))
	}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return server.URL
}
