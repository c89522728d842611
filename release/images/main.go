// Command images writes the container image of a program as an OCI layout, and checks layouts.
//
//	images -program folio -version v0.1.0 -arches "amd64 arm64" -stage DIR -layout DIR
//	images -check DIR
//	images -files DIR -arches amd64 | tar -x
//
// An image has the program DIR/ARCH/PROGRAM of the stage, the licenses of what is in it and the
// certificates of public authorities in one layer, and nothing else. -check verifies every digest, size and media type,
// pushes the index to a registry in this process, and verifies what a client gets from it.
// -files writes the files of one architecture's image as a tar archive.
package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const repository = "https://github.com/foliomem/folio"

func main() {
	log.SetFlags(0)
	log.SetPrefix("images: ")
	program := flag.String("program", "", "`name` of the program")
	version := flag.String("version", "", "`version` of the image")
	arches := flag.String("arches", "amd64 arm64", "`names` of architectures")
	stage := flag.String("stage", "", "`directory` with the programs")
	to := flag.String("layout", "", "`directory` of the layout to write")
	check := flag.String("check", "", "`directory` of a layout to check")
	files := flag.String("files", "", "`directory` of a layout whose files to write")
	flag.Parse()
	var err error
	switch {
	case *check != "":
		err = verify(*check)
	case *files != "":
		err = extract(*files, *arches)
	default:
		err = write(*program, *version, strings.Fields(*arches), *stage, *to)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func write(program, version string, arches []string, stage, to string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	created := time.Unix(seconds, 0).UTC()
	notes := map[string]string{
		"org.opencontainers.image.created":  created.Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source":   repository,
		"org.opencontainers.image.title":    program,
		"org.opencontainers.image.version":  strings.TrimPrefix(version, "v"),
	}
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range arches {
		img, err := image(program, filepath.Join(stage, arch, program), arch, created, notes)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	index, ok := mutate.Annotations(index, notes).(v1.ImageIndex)
	if !ok {
		return errors.New("annotations: not an index")
	}
	l, err := layout.Write(to, empty.Index)
	if err != nil {
		return err
	}
	return l.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": strings.TrimPrefix(version, "v")}))
}

func image(program, file, arch string, created time.Time, notes map[string]string) (v1.Image, error) {
	licenses, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", program, "THIRD_PARTY_LICENSES"))
	if err != nil {
		return nil, err
	}
	files, err := layer(program, file, licenses, created)
	if err != nil {
		return nil, err
	}
	content, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{Layer: content, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "release/build"}})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, config(img, program, arch, created, notes))
}

func config(img v1.Image, program, arch string, created time.Time, notes map[string]string) *v1.ConfigFile {
	c, err := img.ConfigFile()
	if err != nil {
		log.Fatal(err) // of an image in memory
	}
	c.Created, c.OS, c.Architecture = v1.Time{Time: created}, "linux", arch
	c.Config = v1.Config{Entrypoint: []string{"/" + program}, Env: []string{"PATH=/"}, WorkingDir: "/", Labels: notes}
	return c
}

// layer is a tar archive of the program, licenses of what is in it, and certificates.
func layer(program, file string, licenses []byte, at time.Time) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(h tar.Header, data []byte) {
		h.ModTime, h.Size, h.Format = at, int64(len(data)), tar.FormatPAX
		err = errors.Join(err, w.WriteHeader(&h))
		_, e := w.Write(data)
		err = errors.Join(err, e)
	}
	for _, dir := range []string{"etc/", "etc/ssl/", "etc/ssl/certs/"} {
		add(tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}, nil)
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644}, certificates())
	add(tar.Header{Typeflag: tar.TypeReg, Name: "THIRD_PARTY_LICENSES", Mode: 0o644}, licenses)
	add(tar.Header{Typeflag: tar.TypeReg, Name: program, Mode: 0o755}, text)
	return out.Bytes(), errors.Join(err, w.Close())
}

// certificates are those of authorities that may sign for anybody at any time.
func certificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to memory
		}
	}
	return out.Bytes()
}

// open returns the index of a layout's only image, and its digest.
func open(dir string) (v1.ImageIndex, v1.Hash, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, v1.Hash{}, err
	}
	if err := validate.Index(index); err != nil {
		return nil, v1.Hash{}, err
	}
	top, err := index.IndexManifest()
	if err != nil {
		return nil, v1.Hash{}, err
	}
	if len(top.Manifests) != 1 {
		return nil, v1.Hash{}, fmt.Errorf("%s: %d manifests, want 1", dir, len(top.Manifests))
	}
	digest := top.Manifests[0].Digest
	child, err := index.ImageIndex(digest)
	return child, digest, err
}

func extract(dir, arch string) error {
	index, _, err := open(dir)
	if err != nil {
		return err
	}
	images, err := partial.FindImages(index, match.Platforms(v1.Platform{OS: "linux", Architecture: arch}))
	if err != nil {
		return err
	}
	if len(images) != 1 {
		return fmt.Errorf("%s: %d images for linux/%s, want 1", dir, len(images), arch)
	}
	files := mutate.Extract(images[0])
	defer files.Close()
	_, err = io.Copy(os.Stdout, files)
	return err
}

func verify(dir string) error {
	child, want, err := open(dir)
	if err != nil {
		return err
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/folio:check")
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(ref, child); err != nil {
		return err
	}
	pulled, err := remote.Index(ref)
	if err != nil {
		return err
	}
	if err := validate.Index(pulled); err != nil {
		return err
	}
	digest, err := pulled.Digest()
	if err == nil && digest != want {
		err = fmt.Errorf("the registry has %s, want %s", digest, want)
	}
	return err
}
