package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// streamsClient returns the SDK's client with its defaults. Its requests go to transport.
func streamsClient(transport http.RoundTripper) *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region:      region,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient:  &http.Client{Transport: transport},
	})
}

// answers answers each request with the next body, like the service. After the last body it begins again.
type answers struct {
	bodies [][]byte
	sums   []string // checksums that the service sends with the bodies
	next   int
}

func answer(bodies [][]byte) *answers {
	a := &answers{bodies: bodies}
	for _, b := range bodies {
		a.sums = append(a.sums, fmt.Sprint(crc32.ChecksumIEEE(b)))
	}
	return a
}

// RoundTrip answers a request.
func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	body, sum := a.bodies[a.next], a.sums[a.next]
	a.next = (a.next + 1) % len(a.bodies)
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{
			"Content-Type": {"application/x-amz-json-1.0"},
			"X-Amz-Crc32":  {sum},
		},
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// sdkPage returns a page of the SDK's GetRecords.
func sdkPage(ctx context.Context, client *dynamodbstreams.Client) ([]types.Record, error) {
	iterator := streamARN + "|1|this"
	out, err := client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: &iterator})
	if err != nil {
		return nil, err
	}
	return out.Records, nil
}
