package policy

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
)

// search adds the rights to write documents. A policy can limit only the path of a request, and most paths name the
// index.
func (w *writer) search(s config.Sink) {
	at, ok := w.domainPath(s)
	if !ok {
		return
	}
	paths, one := w.indexPaths(s, at)
	w.allow(sid("search", s.Name), "documents, and the index behind its alias", indexActions, paths...)
	if !one {
		w.allow(sid("search", s.Name, "several"),
			"documents of several indexes: the request's body names them, which no policy sees", bulkActions, at("/_bulk"),
			at("/_mget"))
	}
	record := "/tablewake/_doc/" + w.rowPrefix() + "," + string(item.AppendEscaped(nil, s.Name))
	w.allow(sid("search", s.Name, "record"), "the record of the sink's settings and birth", sinkMetadataActions,
		at("/tablewake"), at(record))
	if !s.Search.Fast {
		w.allow(sid("search", s.Name, "script"), "the script that compares versions, which all sinks share", sinkMetadataActions,
			at("/_scripts/tablewake-*"))
	}
}

// domainPath returns a function that makes the ARN of a path in the sink's domain. ok is false if the runner needs no
// rights on the domain. Then the sink uses another authentication, or the role of its connection has the rights.
func (w *writer) domainPath(s config.Sink) (at func(path string) string, ok bool) {
	i := slices.IndexFunc(w.cfg.Connections, func(c config.Connection) bool { return c.Name == s.Search.Connection })
	if i < 0 || w.cfg.Connections[i].Auth != "sigv4" {
		return nil, false
	}
	c := w.cfg.Connections[i]
	if c.AssumeRole != "" {
		w.allow(sid("search", s.Name), "the connection's role reaches the documents", []string{"sts:AssumeRole"},
			c.AssumeRole)
		return nil, false
	}
	return func(path string) string { return w.arn("es", "domain/"+domain(c.OpenSearch)+path) }, true
}

// indexPaths returns the ARNs of the sink's indexes. one is true if all items go to one index.
func (w *writer) indexPaths(s config.Sink, at func(path string) string) (paths []string, one bool) {
	name, one := s.Search.Index.Prefix()
	paths = []string{at("/" + name + "*")}
	if physical := name + ".tw1"; one && len(physical) <= maxIndexName { // a longer name is cut, and ends in a hash
		paths = []string{at("/" + name + "/*"), at("/" + name + "," + physical), at("/" + physical),
			at("/" + physical + "/*")}
	}
	return paths, one
}

// maxIndexName is the longest index name that OpenSearch allows, in bytes.
const maxIndexName = 255

// domain returns the name of an Amazon OpenSearch domain from its endpoint. The endpoint is search-NAME-26
// letters.REGION.es.amazonaws.com, or the same with vpc- in place of search-. domain returns DOMAIN for another
// endpoint.
func domain(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "DOMAIN"
	}
	host, rest, _ := strings.Cut(u.Hostname(), ".")
	for _, kind := range []string{"search-", "vpc-"} {
		name, ok := strings.CutPrefix(host, kind)
		if cut := strings.LastIndexByte(name, '-'); ok && cut > 0 && strings.Contains(rest, ".es.") {
			return name[:cut]
		}
	}
	return "DOMAIN"
}
