// Package servers holds the tests of whole pipelines, assembled from a configuration, on real servers: their contents
// are compared with those of the embedded stores after one clean pass, whatever happened between the pipeline and its
// servers.
package servers
