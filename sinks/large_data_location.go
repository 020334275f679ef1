package sinks

import (
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/archive"
)

// LargeEventFolder returns the bucket and the folder for events that are too large for a message. They are in the
// folder of the first archive that names a bucket, or else in the folder of dead letters. The bucket is "" if the file
// names neither.
func LargeEventFolder(cfg *config.Config) (bucket, folder string) {
	bucket, folder = archiveFolder(cfg)
	if d := cfg.DeadLetters; bucket == "" && d != nil {
		return d.Bucket, WithTrailingSlash(d.Prefix)
	}
	return bucket, folder
}

// LargeLetterFolder returns the bucket and the folder for dead letters that are too large for a message of the queue.
// They are in the folder that dead_letters names, or else in a folder of the first archive's bucket. The bucket is ""
// if the file names neither. cfg.DeadLetters must be set.
func LargeLetterFolder(cfg *config.Config) (bucket, folder string) {
	if d := cfg.DeadLetters; d.Bucket != "" {
		return d.Bucket, WithTrailingSlash(d.Prefix)
	}
	if bucket, folder = archiveFolder(cfg); bucket != "" {
		folder += archive.Fingerprints + "/dead/" // the archive has no objects of its own there
	}
	return bucket, folder
}

// archiveFolder returns the bucket of the first archive that names a bucket, and the folder of that archive in it. It
// returns "" if no archive names a bucket.
func archiveFolder(cfg *config.Config) (bucket, folder string) {
	for _, s := range cfg.Sinks {
		if s.Archive != nil && s.Archive.Bucket != "" {
			return s.Archive.Bucket, archive.Folder(s.Archive.Prefix, s.Archive.Key)
		}
	}
	return "", ""
}

// WithTrailingSlash returns a prefix of keys with a slash at its end, unless it is "".
func WithTrailingSlash(prefix string) string {
	if prefix == "" || strings.HasSuffix(prefix, "/") {
		return prefix
	}
	return prefix + "/"
}
