// Package servers tests whole pipelines, assembled from a configuration, on real servers. Whatever happens between a
// pipeline and its servers, the contents of the servers must be those of the embedded stores after one clean pass.
package servers
