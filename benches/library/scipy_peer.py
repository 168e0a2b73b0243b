"""SciPy: coo_matrix((values, (i, j))).tocsr() of the given element matrices. It keeps no plan: every assembly is a first one."""
from peer import DOFS, array, ms, points, serve
import scipy
from scipy.sparse import coo_matrix

i, j, values = array("i", "i4"), array("j", "i4"), array("values", "f8")
n = DOFS * len(points())


def convert():
    return coo_matrix((values, (i, j)), shape=(n, n)).tocsr()


def round():
    first = ms(convert)[0]
    return [("SciPy coo_matrix.tocsr", float("nan"), first, first)]


def matrix():
    coo = convert().tocoo()
    yield "SciPy coo_matrix.tocsr", coo.row, coo.col, coo.data


serve(f"SciPy {scipy.__version__}", round, matrix)
