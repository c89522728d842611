package lab

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// kernel makes plain files like the kernel's below a directory; those in more
// replace or add to them, "" leaves one out. They keep what is written: of a list
// of choices the word alone.
func kernel(t testing.TB, more map[string]string) string {
	root := t.TempDir()
	files := map[string]string{
		"proc/self/cgroup": "5:devices:/\n4:cpu,memory:/group\n",
		"sys/fs/cgroup/memory/group/memory.limit_in_bytes": "1\n",
		thpDir + "enabled":                             "always [madvise] never\n",
		thpDir + "defrag":                              "always defer defer+madvise [madvise] never\n",
		thpDir + "hugepages-64kB/enabled":              "always inherit madvise [never]\n",
		thpDir + "hugepages-2048kB/enabled":            "always [inherit] madvise never\n",
		thpDir + "khugepaged/max_ptes_none":            "511\n",
		thpDir + "khugepaged/scan_sleep_millisecs":     "10000\n",
		thpDir + "khugepaged/pages_to_scan":            "4096\n",
		poolDir + "hugepages-2048kB/nr_hugepages":      "5\n",
		poolDir + "hugepages-2048kB/free_hugepages":    "3\n",
		poolDir + "hugepages-2048kB/resv_hugepages":    "2\n",
		poolDir + "hugepages-1048576kB/nr_hugepages":   "0\n",
		poolDir + "hugepages-1048576kB/free_hugepages": "0\n",
		poolDir + "hugepages-1048576kB/resv_hugepages": "0\n",
	}
	maps.Copy(files, more)
	for name, text := range files {
		if text == "" {
			continue
		}
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
