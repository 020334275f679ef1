package dynamotest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"syscall"
	"testing/iotest"

	"github.com/tablewake/tablewake/sinks/internal/awstest"
)

// Refuse answers with an error of the API, and does not send the call. For example, status is 400 and code is
// ProvisionedThroughputExceededException.
func Refuse(status int, code, message string) Fault {
	return func(r *Request) (*http.Response, error) {
		return r.answer(status, map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": message})
	}
}

// Throttle answers that the table is over its throughput.
func Throttle() Fault {
	return Refuse(http.StatusBadRequest, "ProvisionedThroughputExceededException",
		"The level of configured provisioned throughput for the table was exceeded.")
}

// Unavailable answers with a status and an HTML page, as a proxy does.
func Unavailable(status int) Fault {
	return func(r *Request) (*http.Response, error) {
		return awstest.Answer(r.http, status, jsonType, "<html>"+http.StatusText(status)+"</html>"), nil
	}
}

// Reason is the reason why one action of a transaction was cancelled.
type Reason struct {
	Code, Message string
	Item          map[string]any // the stored item in DynamoDB JSON
}

func (r Reason) json() map[string]any {
	reason := map[string]any{"Code": r.Code, "Message": r.Message}
	if r.Item != nil {
		reason["Item"] = r.Item
	}
	return reason
}

// Cancel answers that a transaction was cancelled. reasons are in the order of its actions. A zero or missing Reason
// has the code None. A call that is not a transaction gets a conflict.
func Cancel(reasons ...Reason) Fault {
	return func(r *Request) (*http.Response, error) {
		if r.Op != "TransactWriteItems" {
			return Refuse(http.StatusBadRequest, "TransactionConflictException", "Transaction is ongoing for the item")(r)
		}
		var in struct{ TransactItems []json.RawMessage }
		if err := json.Unmarshal(r.Body, &in); err != nil {
			return nil, err
		}
		all := make([]map[string]any, len(in.TransactItems))
		for i := range all {
			all[i] = map[string]any{"Code": "None"}
			if i < len(reasons) && reasons[i].Code != "" {
				all[i] = reasons[i].json()
			}
		}
		return r.answer(http.StatusBadRequest, map[string]any{
			"__type":              "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
			"Message":             "Transaction cancelled, please refer cancellation reasons for specific reasons",
			"CancellationReasons": all,
		})
	}
}

// Conflict answers that another transaction uses the items of the call.
func Conflict() Fault {
	return Cancel(Reason{Code: "TransactionConflict", Message: "Transaction is ongoing for the item"})
}

// Reset breaks the connection before the call is sent.
func Reset() Fault {
	return func(*Request) (*http.Response, error) { return nil, syscall.ECONNRESET }
}

// Lost sends the call, and breaks the connection before the answer.
func Lost() Fault {
	return func(r *Request) (*http.Response, error) {
		resp, err := r.Send()
		if err == nil {
			err = errors.Join(syscall.ECONNRESET, resp.Body.Close())
		}
		return nil, err
	}
}

// Cut sends the call, and ends the answer after its first n bytes.
func Cut(n int) Fault {
	return func(r *Request) (*http.Response, error) {
		resp, err := r.Send()
		if err != nil {
			return nil, err
		}
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(resp.Body, int64(n)), iotest.ErrReader(io.ErrUnexpectedEOF)), resp.Body}
		return resp, nil
	}
}

// Through returns a fault that applies inner and outer. inner takes the place of the server, and outer changes the
// answer of inner. For example, inner refuses the call, and outer cuts the answer.
func Through(inner, outer Fault) Fault {
	return func(r *Request) (*http.Response, error) {
		inside := *r
		inside.send = func([]byte) (*http.Response, error) { return inner(r) }
		return outer(&inside)
	}
}

// Meanwhile calls do before the call is sent, so that do acts as another, faster writer.
func Meanwhile(do func()) Fault {
	return func(r *Request) (*http.Response, error) {
		do()
		return r.Send()
	}
}

// Unprocessed lets the server answer the first n keys of a BatchGetItem, and returns the remaining keys as unprocessed.
// A call of another operation is throttled.
func Unprocessed(n int) Fault {
	return func(r *Request) (*http.Response, error) {
		if r.Op != "BatchGetItem" {
			return Throttle()(r)
		}
		requested, unprocessed, err := splitRequest(r.Body, n)
		if err != nil {
			return nil, err
		}
		out := map[string]any{"Responses": map[string]any{}, "UnprocessedKeys": unprocessed}
		if len(requested) == 0 {
			return r.answer(http.StatusOK, out)
		}
		if r.Body, err = json.Marshal(map[string]any{"RequestItems": requested}); err != nil {
			return nil, err
		}
		resp, err := r.Send()
		if err != nil || resp.StatusCode != http.StatusOK {
			return resp, err
		}
		var answered struct{ Responses json.RawMessage }
		err = errors.Join(json.NewDecoder(resp.Body).Decode(&answered), resp.Body.Close())
		if err != nil {
			return nil, fmt.Errorf("the answer to a BatchGetItem: %w", err)
		}
		out["Responses"] = answered.Responses
		return r.answer(http.StatusOK, out)
	}
}

// splitRequest divides the body of a BatchGetItem. first has the requests for the first n keys, and others has the
// requests for the other keys, both by table.
func splitRequest(body []byte, n int) (first, others map[string]any, err error) {
	var in struct {
		RequestItems map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, nil, err
	}
	first, others = make(map[string]any), make(map[string]any)
	for _, table := range slices.Sorted(maps.Keys(in.RequestItems)) {
		var keys []json.RawMessage
		if err := json.Unmarshal(in.RequestItems[table]["Keys"], &keys); err != nil {
			return nil, nil, err
		}
		taken := min(n, len(keys))
		n -= taken
		if taken > 0 {
			first[table] = withKeys(in.RequestItems[table], keys[:taken])
		}
		if taken < len(keys) {
			others[table] = withKeys(in.RequestItems[table], keys[taken:])
		}
	}
	return first, others, nil
}

// withKeys returns a copy of a table's request with other keys.
func withKeys(request map[string]json.RawMessage, keys []json.RawMessage) map[string]any {
	changed := make(map[string]any, len(request))
	for name, value := range request {
		changed[name] = value
	}
	changed["Keys"] = keys
	return changed
}

// answer returns an answer of the API without a server.
func (r *Request) answer(status int, body map[string]any) (*http.Response, error) {
	b, err := json.Marshal(body)
	return awstest.Answer(r.http, status, jsonType, string(b)), err
}

const jsonType = "application/x-amz-json-1.0"
