package main
import ("testing";"context";"runtime";"github.com/foliomem/folio/examples/jsonserver/internal/item")
func TestHeap(t *testing.T){ var m runtime.MemStats; ss=nil; runtime.GC();runtime.GC();runtime.ReadMemStats(&m);b:=m.HeapAlloc
 s:=load(context.Background(), item.DefaultRecords,1)
 runtime.GC();runtime.GC();runtime.ReadMemStats(&m);t.Log(m.HeapAlloc-b, float64(m.HeapAlloc-b)/(1<<20),m.HeapObjects); runtime.KeepAlive(s)}
