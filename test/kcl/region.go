package kcl

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/tablewake/tablewake/test/server"
)

// The ARNs of DynamoDB Local name a region that does not exist. The KCL's adapter accepts only existing regions.
const (
	localRegion = "arn:aws:dynamodb:ddblocal:"
	knownRegion = "arn:aws:dynamodb:" + server.Region + ":"
)

// KnownARN returns the ARN that a [RegionProxy] gives to a stream of DynamoDB Local.
func KnownARN(local string) string { return strings.Replace(local, localRegion, knownRegion, 1) }

// RegionProxy is a proxy before DynamoDB Local. In answers it gives ARNs a region that exists. In requests it changes
// them back.
type RegionProxy struct {
	server *httptest.Server
	to     string
	pool   *http.Transport
}

// NewRegionProxy returns a proxy before the server at endpoint. The caller closes the proxy.
func NewRegionProxy(endpoint string) *RegionProxy {
	p := &RegionProxy{to: endpoint, pool: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
	p.server = httptest.NewServer(http.HandlerFunc(p.serve))
	return p
}

// Endpoint returns the URL that the KCL uses instead of the server's.
func (p *RegionProxy) Endpoint() string { return p.server.URL }

// Close ends the proxy after its requests are answered.
func (p *RegionProxy) Close() {
	p.server.Close()
	p.pool.CloseIdleConnections()
}

func (p *RegionProxy) serve(w http.ResponseWriter, r *http.Request) {
	status, header, answer, err := p.forward(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	for _, name := range []string{"Content-Type", "X-Amzn-Requestid"} { // length and checksum have changed
		w.Header().Set(name, header.Get(name))
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func (p *RegionProxy) forward(r *http.Request) (status int, header http.Header, answer []byte, err error) {
	body, err := changed(r.Body, knownRegion, localRegion)
	if err != nil {
		return 0, nil, nil, err
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.to+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	for _, name := range []string{"Content-Type", "X-Amz-Target", "X-Amz-Date", "Authorization"} {
		req.Header.Set(name, r.Header.Get(name))
	}
	resp, err := p.pool.RoundTrip(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err = changed(resp.Body, localRegion, knownRegion)
	return resp.StatusCode, resp.Header, answer, err
}

func changed(body io.Reader, from, to string) ([]byte, error) {
	b, err := io.ReadAll(body)
	return bytes.ReplaceAll(b, []byte(from), []byte(to)), err
}
