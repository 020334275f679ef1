package policy

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
)

// allowSearch adds the rights to write documents. A policy can limit only the path of a request, and most paths name
// the index.
func (w *writer) allowSearch(s config.Sink) {
	domain, ok := w.allowConnection(s)
	if !ok {
		return
	}
	w.allow(sid("search", s.Name), "documents, and the index behind its alias", indexActions, indexARNs(s, domain)...)
	if !hasSingleIndex(s) {
		w.allow(sid("search", s.Name, "several"),
			"documents of several indexes: the request's body names them, which no policy sees", bulkActions,
			domain+"/_bulk", domain+"/_mget")
	}
	w.allow(sid("search", s.Name, "record"), "the record of the sink's settings and birth", sinkMetadataActions,
		domain+"/tablewake", domain+w.recordPath(s))
	if !s.Search.Fast {
		w.allow(sid("search", s.Name, "script"), "the script that compares versions, which all sinks share", sinkMetadataActions,
			domain+"/_scripts/tablewake-*")
	}
}

// allowConnection adds the right to assume the role of the sink's connection. If the connection has no role of its own,
// allowConnection returns the ARN of the domain, on which the runner itself needs rights. Otherwise ok is false, as it
// is for a connection with another authentication.
func (w *writer) allowConnection(s config.Sink) (domain string, ok bool) {
	i := slices.IndexFunc(w.cfg.Connections, func(c config.Connection) bool { return c.Name == s.Search.Connection })
	if i < 0 {
		return "", false
	}
	c := w.cfg.Connections[i]
	if c.Auth != "sigv4" {
		return "", false
	}
	if c.AssumeRole != "" {
		w.allow(sid("search", s.Name), "the connection's role reaches the documents", []string{"sts:AssumeRole"},
			c.AssumeRole)
		return "", false
	}
	return w.arn("es", "domain/"+domainName(c.OpenSearch)), true
}

// hasSingleIndex reports whether all items of a search sink go to one index.
func hasSingleIndex(s config.Sink) bool {
	_, isWhole := s.Search.Index.Prefix()
	return isWhole
}

// indexARNs returns the ARNs of the paths of the sink's indexes in a domain.
func indexARNs(s config.Sink, domain string) []string {
	name, _ := s.Search.Index.Prefix()
	physical := name + ".tw1"
	if !hasSingleIndex(s) || len(physical) > maxIndexName { // a name that is too long is cut, and ends in a hash
		return []string{domain + "/" + name + "*"}
	}
	return []string{domain + "/" + name + "/*", domain + "/" + name + "," + physical, domain + "/" + physical,
		domain + "/" + physical + "/*"}
}

// recordPath returns the path of the document that records the sink's settings and birth.
func (w *writer) recordPath(s config.Sink) string {
	return "/tablewake/_doc/" + w.rowPrefix() + "," + string(item.AppendEscaped(nil, s.Name))
}

// maxIndexName is the longest index name that OpenSearch allows, in bytes.
const maxIndexName = 255

// domainName returns the name of an Amazon OpenSearch domain. The endpoint of such a domain is
// search-NAME-ID.REGION.es.amazonaws.com, where ID has 26 letters. It can begin with vpc- in place of search-. For
// another endpoint, domainName returns DOMAIN.
func domainName(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "DOMAIN"
	}
	host, rest, _ := strings.Cut(u.Hostname(), ".")
	if !strings.Contains(rest, ".es.") {
		return "DOMAIN"
	}
	for _, prefix := range []string{"search-", "vpc-"} {
		label, ok := strings.CutPrefix(host, prefix)
		nameLength := strings.LastIndexByte(label, '-')
		if ok && nameLength > 0 {
			return label[:nameLength]
		}
	}
	return "DOMAIN"
}
