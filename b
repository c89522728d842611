{
  "schema": "folio/1",
  "kind": "run",
  "folio_version": "(devel)",
  "created": "2026-11-22T19:33:04.195515043Z",
  "complete": true,
  "host": {
    "os": "linux",
    "arch": "amd64",
    "kernel": "6.18.44-fc-v657",
    "cpu": "AMD EPYC",
    "cpus": 2,
    "memory_bytes": 25276510208,
    "cgroup_limit_bytes": null,
    "page_bytes": 4096,
    "huge_page_bytes": 2097152,
    "thp_enabled": "madvise",
    "thp_defrag": "madvise",
    "thp_max_ptes_none": 511
  },
  "program": {
    "command": [
      "true"
    ],
    "go_version": null,
    "module": null,
    "build_id": "c89156ebdabf859f"
  },
  "seed": null,
  "rounds": 1,
  "elapsed_seconds": 0.004652028,
  "metric": null,
  "arms": [
    {
      "name": "default",
      "setting": {
        "gogc": null,
        "gomemlimit_bytes": null,
        "gomaxprocs": null,
        "thp": "system",
        "env": []
      },
      "samples": [
        {
          "round": 1,
          "sequence": 1,
          "wall_seconds": 0.001291398,
          "user_seconds": 0.000934,
          "sys_seconds": 0,
          "cpu_seconds": 0.000934,
          "peak_rss_bytes": null,
          "peak_tree_rss_bytes": null,
          "minor_faults": 51,
          "major_faults": 0,
          "gc_cycles": null,
          "gc_cpu_seconds": null,
          "gc_cpu_fraction": null,
          "gc_pause_seconds": null,
          "gc_pause_max_seconds": null,
          "heap_peak_bytes": null,
          "huge_peak_bytes": null,
          "memory_tax_fraction": null,
          "where": null,
          "series": {
            "rss": {
              "seconds": null,
              "bytes": null,
              "each": 0
            },
            "huge": {
              "seconds": null,
              "bytes": null,
              "each": 0
            },
            "heap": {
              "seconds": null,
              "bytes": null,
              "each": 0
            },
            "live": {
              "seconds": null,
              "bytes": null,
              "each": 0
            }
          },
          "exit_code": 0,
          "metrics": null
        }
      ],
      "summary": {
        "cpu_seconds": {
          "n": 1,
          "median": 0.000934,
          "lo": null,
          "hi": null,
          "confidence": 0.95
        },
        "gc_cpu_fraction": null,
        "gc_cpu_seconds": null,
        "gc_cycles": null,
        "gc_pause_max_seconds": null,
        "gc_pause_seconds": null,
        "heap_peak_bytes": null,
        "huge_peak_bytes": null,
        "major_faults": {
          "n": 1,
          "median": 0,
          "lo": null,
          "hi": null,
          "confidence": 0.95
        },
        "memory_tax_fraction": null,
        "metrics": {},
        "minor_faults": {
          "n": 1,
          "median": 51,
          "lo": null,
          "hi": null,
          "confidence": 0.95
        },
        "peak_rss_bytes": null,
        "peak_tree_rss_bytes": null,
        "sys_seconds": {
          "n": 1,
          "median": 0,
          "lo": null,
          "hi": null,
          "confidence": 0.95
        },
        "user_seconds": {
          "n": 1,
          "median": 0.000934,
          "lo": null,
          "hi": null,
          "confidence": 0.95
        },
        "wall_seconds": {
          "n": 1,
          "median": 0.001291398,
          "lo": null,
          "hi": null,
          "confidence": 0.95
        }
      }
    }
  ],
  "recommendations": [],
  "notes": [
    "no gctrace line was seen: the command is no Go program, or it hides its standard error; the collector's figures are missing",
    "the program ended before its huge pages could be counted"
  ]
}
