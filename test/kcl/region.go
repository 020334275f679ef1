package kcl

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/tablewake/tablewake/test/server"
)

// DynamoDB Local's ARNs name a region that does not exist, and the KCL's adapter takes
// only those that do.
const (
	localRegion = "arn:aws:dynamodb:ddblocal:"
	knownRegion = "arn:aws:dynamodb:" + server.Region + ":"
)

// KnownARN is the ARN of one of DynamoDB Local's streams as a [RegionProxy] has it.
func KnownARN(local string) string { return strings.Replace(local, localRegion, knownRegion, 1) }

// RegionProxy is in front of DynamoDB Local. In answers it gives the ARNs a region that exists; in requests it changes
// them back.
type RegionProxy struct {
	server *httptest.Server
	to     string
	pool   *http.Transport
}

// NewRegionProxy is in front of the server of that URL. The caller closes it.
func NewRegionProxy(endpoint string) *RegionProxy {
	p := &RegionProxy{to: endpoint, pool: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
	p.server = httptest.NewServer(http.HandlerFunc(p.serve))
	return p
}

// Endpoint is the URL to give to the KCL in the server's place.
func (p *RegionProxy) Endpoint() string { return p.server.URL }

// Close ends the proxy once its requests are answered.
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
	for _, name := range []string{"Content-Type", "X-Amzn-Requestid"} { // length and checksum were the other text's
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
