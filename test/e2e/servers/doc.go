// Package servers holds the tests of whole pipelines, assembled from a configuration,
// on real servers: what they hold is compared with what the embedded stores hold after
// one clean pass, whatever happened between the pipeline and its servers.
package servers
