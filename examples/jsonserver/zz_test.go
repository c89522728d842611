package main
import ("testing";"context";"net/http/httptest";"strings";"encoding/json";"github.com/foliomem/folio/examples/jsonserver/internal/item")
var ss = load(context.Background(), 20000, 1)
func BenchmarkX(b *testing.B){
 h:=handler(ss)
 body,_:=json.Marshal(item.New(2,5))
 b.Log(len(body))
 for _,c:=range [][3]string{{"GET","/item?id=7",""},{"POST","/item",string(body)},{"GET","/search?q=brass",""}}{
 b.Run(c[0]+c[1],func(b *testing.B){b.ReportAllocs();for b.Loop(){ h.ServeHTTP(httptest.NewRecorder(),httptest.NewRequest(c[0],c[1],strings.NewReader(c[2])))}})}
}
