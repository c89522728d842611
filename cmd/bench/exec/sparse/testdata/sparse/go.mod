module folio.invalid/sparse

go 1.21
