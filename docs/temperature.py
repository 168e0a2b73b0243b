#!/usr/bin/env python3
"""Draws the temperature in a file of --vtk, cut open at the middle, by the readers that ParaView has too.

    minifenl --nodes 25 --map twist --vtk t.vtu
    python3 docs/temperature.py t.vtu docs/temperature.png      # pip install vtk
"""
import sys

import vtk

# Five colours of viridis, dark to light.
COLOURS = [(0.267, 0.005, 0.329), (0.229, 0.322, 0.546), (0.128, 0.567, 0.551), (0.369, 0.789, 0.383), (0.993, 0.906, 0.144)]

source, picture = sys.argv[1:]
reader = vtk.vtkXMLPUnstructuredGridReader() if source.endswith(".pvtu") else vtk.vtkXMLUnstructuredGridReader()
reader.SetFileName(source)
reader.Update()
low, high = reader.GetOutput().GetPointData().GetArray("temperature").GetRange()

plane = vtk.vtkPlane()
plane.SetOrigin(*(1.15 * x for x in reader.GetOutput().GetCenter()))
plane.SetNormal(1, 0, 0)
half = vtk.vtkExtractGeometry()  # whole elements: the mesh stays visible in the cut
half.SetImplicitFunction(plane)
half.SetInputConnection(reader.GetOutputPort())
surface = vtk.vtkDataSetSurfaceFilter()
surface.SetInputConnection(half.GetOutputPort())

colours = vtk.vtkColorTransferFunction()
for step, colour in enumerate(COLOURS):
    colours.AddRGBPoint(low + (high - low) * step / 4, *colour)
mapper = vtk.vtkDataSetMapper()
mapper.SetInputConnection(surface.GetOutputPort())
mapper.SetScalarModeToUsePointFieldData()
mapper.SelectColorArray("temperature")
mapper.SetLookupTable(colours)
actor = vtk.vtkActor()
actor.SetMapper(mapper)
actor.GetProperty().EdgeVisibilityOn()
actor.GetProperty().SetEdgeColor(0.25, 0.25, 0.25)
actor.GetProperty().SetInterpolationToFlat()
actor.GetProperty().LightingOff()

bar = vtk.vtkScalarBarActor()
bar.SetLookupTable(colours)
bar.SetTitle("T")
bar.SetNumberOfLabels(5)
bar.SetLabelFormat("{:.2f}")
bar.SetUnconstrainedFontSize(True)
bar.SetPosition(0.85, 0.12)
bar.SetPosition2(0.1, 0.76)
for text in (bar.GetTitleTextProperty(), bar.GetLabelTextProperty()):
    text.SetColor(0.2, 0.2, 0.2)
    text.SetFontSize(20)
    text.BoldOff()
    text.ItalicOff()
    text.ShadowOff()

scene = vtk.vtkRenderer()
scene.SetBackground(1, 1, 1)
scene.AddViewProp(actor)
scene.AddViewProp(bar)
scene.ResetCamera()
camera = scene.GetActiveCamera()
focus = camera.GetFocalPoint()
camera.SetPosition(focus[0] + 3, focus[1] - 2, focus[2] + 1.2)
camera.SetViewUp(0, 0, 1)
scene.ResetCamera()
camera.Zoom(1.0)
camera.SetWindowCenter(0.14, 0)
window = vtk.vtkRenderWindow()
window.SetOffScreenRendering(1)
window.SetMultiSamples(8)
window.SetSize(800, 600)
window.AddRenderer(scene)
window.Render()
image = vtk.vtkWindowToImageFilter()
image.SetInput(window)
writer = vtk.vtkPNGWriter()
writer.SetFileName(picture)
writer.SetInputConnection(image.GetOutputPort())
writer.Write()
